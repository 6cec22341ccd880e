/* A libcuda.so.1 that launches nothing: device memory is the host's, and every call is a line of the file $FAKE_CUDA_LOG. A kernel whose
 * symbol contains "softmax" is computed, from the parameters of its launch alone. $FAKE_CUDA_FAILS names a function that fails. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kOutOfMemory = 2, kNotFound = 500 };

typedef struct attribute {
  int32_t id;
  char padding[4];
  uint32_t value[16];
} attribute;

typedef struct launch_config {
  uint32_t grid[3], block[3], shared_bytes;
  void* stream;
  attribute* attributes;
  uint32_t attribute_count;
} launch_config;

static int note(const char* function, const char* format, ...) {
  const char* const file = getenv("FAKE_CUDA_LOG");
  const char* const fails = getenv("FAKE_CUDA_FAILS");
  FILE* const log = file != NULL ? fopen(file, "a") : NULL;
  va_list values;
  if (log != NULL) {
    fprintf(log, "%s", function);
    va_start(values, format);
    vfprintf(log, format, values);
    va_end(values);
    fputc('\n', log);
    fclose(log);
  }
  return fails != NULL && strcmp(fails, function) == 0 ? kOutOfMemory : 0;
}

/* $FAKE_CUDA_VERSION, else 13.0. */
int cuDriverGetVersion(int* version) {
  const char* const set = getenv("FAKE_CUDA_VERSION");
  *version = set == NULL ? 13000 : atoi(set);
  return 0;
}
int cuInit(unsigned flags) { return note("cuInit", " %u", flags); }
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return note("cuDeviceGet", " %d", ordinal);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int any;
  *context = &any;
  return note("cuDevicePrimaryCtxRetain", " %d", device);
}
int cuCtxSetCurrent(void* context) { return note("cuCtxSetCurrent", " %d", context != NULL); }
int cuCtxSynchronize(void) { return note("cuCtxSynchronize", "%s", ""); }

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  const int failed = note("cuMemAlloc_v2", " %zu", bytes);
  *address = failed ? 0 : (uint64_t)(uintptr_t)malloc(bytes);
  return failed;
}
int cuMemFree_v2(uint64_t address) {
  free((void*)(uintptr_t)address);
  return note("cuMemFree_v2", "%s", "");
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  memcpy((void*)(uintptr_t)to, from, bytes);
  return note("cuMemcpyHtoD_v2", " %zu", bytes);
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return note("cuMemcpyDtoH_v2", " %zu", bytes);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, bytes);
  return note("cuMemcpyDtoDAsync_v2", " %zu stream %d", bytes, (int)(intptr_t)stream);
}
int cuMemsetD8Async(uint64_t to, unsigned char pattern, size_t bytes, void* stream) {
  memset((void*)(uintptr_t)to, pattern, bytes);
  return note("cuMemsetD8Async", " %d %zu stream %d", pattern, bytes, (int)(intptr_t)stream);
}

int cuModuleLoadData(void** module, const void* image) {
  *module = (void*)(uintptr_t)image;
  return note("cuModuleLoadData", " %.3s", (const char*)image + 1);
}
int cuModuleUnload(void* module) { return note("cuModuleUnload", " %d", module != NULL); }
int cuModuleGetFunction(void** function, void* module, const char* symbol) {
  *function = (void*)(uintptr_t)symbol;
  return module == NULL ? kNotFound : note("cuModuleGetFunction", " %s", symbol);
}
int cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void* module, const char* symbol) {
  static unsigned char constant[256];
  *address = (uint64_t)(uintptr_t)constant;
  *bytes = sizeof constant;
  return module == NULL ? kNotFound : note("cuModuleGetGlobal_v2", " %s", symbol);
}
int cuFuncSetAttribute(void* function, int which, int value) {
  return note("cuFuncSetAttribute", " %s %d %d", (char*)function, which, value);
}

int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* size, const uint64_t* stride_bytes,
                           const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int l2, int fill) {
  memset(map, 0x5A, 128);
  return note("cuTensorMapEncodeTiled",
              " aligned %d type %d rank %u first %u size %" PRIu64 " stride %" PRIu64 " box %u,%u steps %u %d %d %d %d",
              (uintptr_t)map % 64 == 0, type, rank, *(unsigned char*)address, size[0], stride_bytes[0], box[0], box[1], element_strides[0],
              interleave, swizzle, l2, fill);
}

static void softmax(void** parameters) {
  const float* const x = *(const float**)parameters[0];
  float* const y = *(float**)parameters[1];
  const int64_t* const problem = (const int64_t*)parameters[2];
  for (int64_t row = 0; row < problem[0]; ++row) {
    double sum = 0.0;
    for (int64_t i = 0; i < problem[1]; ++i) {
      sum += exp(x[row * problem[1] + i]);
    }
    for (int64_t i = 0; i < problem[1]; ++i) {
      y[row * problem[1] + i] = (float)(exp(x[row * problem[1] + i]) / sum);
    }
  }
}

int cuLaunchKernelEx(const launch_config* config, void* function, void** parameters, void** extra) {
  char attributes[256] = "";
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    const attribute* const one = &config->attributes[i];
    snprintf(attributes + strlen(attributes), sizeof attributes - strlen(attributes), " %d=%u,%u,%u", (int)one->id, one->value[0],
             one->value[1], one->value[2]);
  }
  const int failed = note("cuLaunchKernelEx", " %s grid %u,%u,%u block %u,%u,%u shared %u stream %d attributes%s", (char*)function,
                          config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
                          config->shared_bytes, (int)(intptr_t)config->stream, attributes);
  if (!failed && strstr((char*)function, "softmax") != NULL) {
    softmax(parameters);
  }
  if (strstr((char*)function, "shows") != NULL) { /* float*, float, run index, tensor map, Problem of two */
    note("parameters", " %g %g %d %d %" PRId64 ",%" PRId64, **(float**)parameters[0], *(float*)parameters[1], *(int32_t*)parameters[2],
         *(unsigned char*)parameters[3], ((int64_t*)parameters[4])[0], ((int64_t*)parameters[4])[1]);
  }
  return extra != NULL ? kNotFound : failed;
}

int cuGetErrorString(int error, const char** text) {
  *text = error == kOutOfMemory ? "out of memory" : "not found";
  return 0;
}
