/* Stands in for cuBLASLt where there is no GPU: the functions that Hone binds, with a few made-up algorithms, products of floats in host
   memory, and opaque structures of its own. What it computes is what NVIDIA's documentation says of cublasLtMatmul. */
#include <stddef.h>
#include <stdint.h>

enum { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
enum { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum { kId, kTile, kSplit, kReduction, kSwizzle, kOption, kStages, kInner, kCluster };
enum { kRelu = 2, kBias = 4 };

typedef struct {
  int32_t transpose_a, transpose_b;
  uint32_t epilogue;
  const float* bias;
} Operation;
typedef struct {
  int32_t type;
  uint64_t rows, columns;
  int64_t leading;
} Layout;
typedef struct {
  uint32_t traits[16];
} Algorithm;
typedef struct {
  Algorithm algorithm;
  size_t workspace;
  int32_t status;
  float waves;
  int32_t reserved[4];
} Suggestion;

size_t cublasLtGetVersion(void) { return 120905; }
const char* cublasLtGetStatusName(int status) {
  return status == kSuccess ? "SUCCESS" : status == kNotSupported ? "NOT_SUPPORTED" : "INVALID";
}

int cublasLtCreate(void** handle) {
  static int started;
  *handle = &started;
  return kSuccess;
}
int cublasLtDestroy(void* handle) { return handle == NULL ? kInvalidValue : kSuccess; }

int cublasLtMatmulDescInit_internal(Operation* operation, size_t size, int compute, int scale) {
  const Operation plain = {0, 0, 0, NULL};
  *operation = plain;
  return size >= sizeof(Operation) && compute == 68 && scale == 0 ? kSuccess : kInvalidValue;
}

int cublasLtMatmulDescSetAttribute(Operation* operation, int attribute, const void* value, size_t size) {
  switch (attribute) {
    case kTransposeA:
      operation->transpose_a = *(const int32_t*)value;
      return size == 4 ? kSuccess : kInvalidValue;
    case kTransposeB:
      operation->transpose_b = *(const int32_t*)value;
      return size == 4 ? kSuccess : kInvalidValue;
    case kEpilogue:
      operation->epilogue = *(const uint32_t*)value;
      return size == 4 ? kSuccess : kInvalidValue;
    case kBiasPointer:
      operation->bias = *(const float* const*)value;
      return size == 8 ? kSuccess : kInvalidValue;
    default:
      return kInvalidValue;
  }
}

int cublasLtMatrixLayoutInit_internal(Layout* layout, size_t size, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  const Layout made = {type, rows, columns, leading};
  *layout = made;
  return size >= sizeof(Layout) && leading >= (int64_t)rows ? kSuccess : kInvalidValue;
}

int cublasLtMatmulPreferenceInit_internal(uint64_t* preference, size_t size) {
  preference[0] = 0;
  return size >= 8 ? kSuccess : kInvalidValue;
}

int cublasLtMatmulPreferenceSetAttribute(uint64_t* preference, int attribute, const void* value, size_t size) {
  if (attribute == 1) {
    preference[0] = *(const uint64_t*)value;
  }
  return size == (attribute == 1 ? 8 : 4) ? kSuccess : kInvalidValue;
}

/* 66: two tiles, k in one part. 24: k in up to eight parts. */
static int is_known(const Algorithm* a) {
  const uint32_t* const t = a->traits;
  const int tensor = t[kId] == 66 && t[kStages] == 35 && (t[kTile] == 20 || t[kTile] == 24) && t[kSplit] == 1;
  const int parts = t[kId] == 24 && t[kStages] == 0 && t[kTile] == 20 && t[kSplit] >= 1 && t[kSplit] <= 8 && t[kCluster] == 0;
  return (tensor || parts) && t[kOption] <= 3 && t[kSwizzle] <= 1 && (t[kSplit] == 1) == (t[kReduction] == 0);
}

int cublasLtMatmulAlgoCheck(void* handle, const Operation* operation, const Layout* a, const Layout* b, const Layout* c, const Layout* d,
                            const Algorithm* algorithm, Suggestion* result) {
  if (handle == NULL || operation == NULL || a->type != b->type || c->rows != d->rows || !is_known(algorithm)) {
    return kNotSupported;
  }
  result->algorithm = *algorithm;
  result->workspace = algorithm->traits[kSplit] == 1 ? 4 : 5000 * (size_t)algorithm->traits[kSplit];
  result->status = kSuccess;
  return kSuccess;
}

int cublasLtMatmulAlgoGetHeuristic(void* handle, const Operation* operation, const Layout* a, const Layout* b, const Layout* c,
                                   const Layout* d, const uint64_t* preference, int most, Suggestion* results, int* count) {
  static const Algorithm kAll[] = {{{24, 20, 3, 2, 0, 1, 0, 0, 0}}, {{66, 24, 1, 0, 0, 2, 35, 0, 5}}, {{66, 20, 1, 0, 1, 0, 35, 0, 3}}};
  *count = 0;
  for (size_t i = 0; i < sizeof kAll / sizeof *kAll && *count < most; ++i) {
    Suggestion one = {0};
    if (cublasLtMatmulAlgoCheck(handle, operation, a, b, c, d, &kAll[i], &one) == kSuccess && one.workspace <= preference[0]) {
      results[(*count)++] = one;
    }
  }
  return kSuccess;
}

int cublasLtMatmulAlgoGetIds(void* handle, int compute, int scale, int a, int b, int c, int d, int most, int* ids, int* count) {
  if (handle == NULL || compute != 68 || scale != 0 || a != b || c != d || most < 2) {
    return kInvalidValue;
  }
  ids[0] = 24;
  ids[1] = 66;
  *count = 2;
  return kSuccess;
}

int cublasLtMatmulAlgoInit(void* handle, int compute, int scale, int a, int b, int c, int d, int id, Algorithm* algorithm) {
  const Algorithm plain = {{0}};
  if (handle == NULL || compute != 68 || scale != 0 || a != b || c != d) {
    return kInvalidValue;
  }
  *algorithm = plain;
  algorithm->traits[kId] = (uint32_t)id;
  algorithm->traits[kSplit] = 1;
  return kSuccess;
}

static size_t size_of(int attribute) { return attribute == kInner || attribute == kCluster ? 2 : 4; }

int cublasLtMatmulAlgoConfigSetAttribute(Algorithm* algorithm, int attribute, const void* value, size_t size) {
  if (attribute < 1 || attribute > kCluster || size != size_of(attribute)) {
    return kInvalidValue;
  }
  algorithm->traits[attribute] = size == 2 ? *(const uint16_t*)value : *(const uint32_t*)value;
  return kSuccess;
}

int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value, size_t size, size_t* written) {
  if (attribute < 0 || attribute > kCluster || size != size_of(attribute)) {
    return kInvalidValue;
  }
  if (size == 2) {
    *(uint16_t*)value = (uint16_t)algorithm->traits[attribute];
  } else {
    *(uint32_t*)value = algorithm->traits[attribute];
  }
  *written = size;
  return kSuccess;
}

int cublasLtMatmulAlgoCapGetAttribute(const Algorithm* algorithm, int capability, void* value, size_t size, size_t* written) {
  *(int32_t*)value = capability == 0 ? algorithm->traits[kId] == 24 : capability == 2 ? 1 : capability == 7 ? 3 : 0;
  *written = size;
  return size == 4 ? kSuccess : kInvalidValue;
}

static float at(const float* values, const Layout* layout, int transposed, uint64_t row, uint64_t column) {
  return values[transposed ? row * (uint64_t)layout->leading + column : column * (uint64_t)layout->leading + row];
}

int cublasLtMatmul(void* handle, const Operation* operation, const float* alpha, const float* a, const Layout* a_layout, const float* b,
                   const Layout* b_layout, const float* beta, const float* c, const Layout* c_layout, float* d, const Layout* d_layout,
                   const Algorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  const uint64_t terms = operation->transpose_a ? a_layout->rows : a_layout->columns;
  const size_t needed = algorithm->traits[kSplit] == 1 ? 4 : 5000 * (size_t)algorithm->traits[kSplit];
  (void)stream;
  if (handle == NULL || !is_known(algorithm) || workspace == NULL || (uintptr_t)workspace % 256 != 0 || workspace_bytes < needed) {
    return kNotSupported;
  }
  for (uint64_t column = 0; column < d_layout->columns; ++column) {
    for (uint64_t row = 0; row < d_layout->rows; ++row) {
      float x = 0.0F;
      for (uint64_t k = 0; k < terms; ++k) {
        x += at(a, a_layout, operation->transpose_a, row, k) * at(b, b_layout, operation->transpose_b, k, column);
      }
      x = *alpha * x + (*beta == 0.0F ? 0.0F : *beta * at(c, c_layout, 0, row, column));
      x += operation->epilogue & kBias ? operation->bias[row] : 0.0F;
      d[column * (uint64_t)d_layout->leading + row] = operation->epilogue & kRelu && x < 0.0F ? 0.0F : x;
    }
  }
  return kSuccess;
}
