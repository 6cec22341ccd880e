/* The functions of cuBLASLt that Hone binds, of which only those without a device work: what is read of a library before it is started. */
#include <stddef.h>

size_t cublasLtGetVersion(void) { return 120905; }
const char* cublasLtGetStatusName(int status) { return status == 0 ? "SUCCESS" : "NOT_INITIALIZED"; }

#define NEEDS_A_DEVICE(name) \
  int name(void) { return 1; }
NEEDS_A_DEVICE(cublasLtCreate)
NEEDS_A_DEVICE(cublasLtDestroy)
NEEDS_A_DEVICE(cublasLtMatmulDescInit_internal)
NEEDS_A_DEVICE(cublasLtMatmulDescSetAttribute)
NEEDS_A_DEVICE(cublasLtMatrixLayoutInit_internal)
NEEDS_A_DEVICE(cublasLtMatmulPreferenceInit_internal)
NEEDS_A_DEVICE(cublasLtMatmulPreferenceSetAttribute)
NEEDS_A_DEVICE(cublasLtMatmulAlgoGetHeuristic)
NEEDS_A_DEVICE(cublasLtMatmulAlgoGetIds)
NEEDS_A_DEVICE(cublasLtMatmulAlgoInit)
NEEDS_A_DEVICE(cublasLtMatmulAlgoConfigSetAttribute)
NEEDS_A_DEVICE(cublasLtMatmulAlgoConfigGetAttribute)
NEEDS_A_DEVICE(cublasLtMatmulAlgoCheck)
NEEDS_A_DEVICE(cublasLtMatmul)
