/* Launches what `hone export --header` wrote, with the CUDA driver and nothing else: no Hone, no toolkit, no file (docs/launch_plans.md).
 *
 *   #include "softmax.f32.512x2048.sm_90a.h"      it includes this header
 *
 *   hone_plan_loaded softmax;
 *   if (hone_plan_load(&softmax, &softmax_f32_512x2048_sm_90a) != 0) { puts(softmax.message); }
 *   void* arguments[] = {&x, &y};                 as of cuLaunchKernel: where each value is; CUdeviceptr x, y
 *   hone_plan_launch(&softmax, stream, arguments, 2);
 *   hone_plan_unload(&softmax);
 *
 * It is C99 and C++, and links -ldl where libc does not contain that. A context must be current in the thread that loads, launches or
 * unloads; hone_plan_use_device makes one for programs without CUDA code of their own. A loaded plan has one block of memory for each
 * workspace, so its launches belong on one stream at a time: load it once for each. Functions return 0 or CUDA's error, or
 * HONE_PLAN_INVALID, and `message` says what failed. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the data below. A header that was written for another version does not compile. */
#define HONE_PLAN_VERSION 1

enum {
  HONE_PLAN_INVALID = -1,
  HONE_PLAN_MOST_ARGUMENTS = 32,
  HONE_PLAN_MOST_PARAMETERS = 64,
  HONE_PLAN_MOST_FUNCTIONS = 64,
  HONE_PLAN_MOST_CONSTANTS = 32,
  HONE_PLAN_MOST_TENSOR_MAPS = 16, /* of a pass */
  HONE_PLAN_TENSOR_MAP_BYTES = 128,
  HONE_PLAN_TENSOR_MAP_ALIGNMENT = 64
};

/* ---- The plan: what the written header defines ---- */

enum { HONE_PLAN_IN = 0, HONE_PLAN_OUT = 1, HONE_PLAN_INOUT = 2, HONE_PLAN_WORKSPACE = 3, HONE_PLAN_SCALAR = 4 };

typedef struct hone_plan_argument {
  const char* name;
  const char* dtype; /* "f32" */
  int32_t role;      /* HONE_PLAN_IN ... */
  int32_t zeroed;    /* is cleared before each launch */
  uint64_t elements; /* 0 of a scalar */
  uint64_t bytes;
} hone_plan_argument;

enum { HONE_PLAN_ARGUMENT = 0, HONE_PLAN_PROBLEM = 1, HONE_PLAN_RUN_INDEX = 2, HONE_PLAN_TENSOR_MAP = 3 };

/* A parameter of a kernel: an argument by its index; the Problem; a number; a tensor map by its index. */
typedef struct hone_plan_parameter {
  int32_t kind;
  int32_t value;
} hone_plan_parameter;

/* What cuTensorMapEncodeTiled takes; 0 axes: the configuration does not use it. */
typedef struct hone_plan_tensor_map {
  int32_t argument;
  int32_t type; /* CUtensorMapDataType */
  uint32_t axes;
  int32_t swizzle;      /* CUtensorMapSwizzle */
  int32_t l2_promotion; /* CUtensorMapL2promotion */
  uint32_t box[5];
  uint64_t size[5];
  uint64_t stride_bytes[5]; /* without the first */
  uint64_t offset_bytes;
} hone_plan_tensor_map;

/* A copy into constant memory, before each launch. */
typedef struct hone_plan_constant {
  const char* symbol;
  uint64_t bytes;
  int32_t argument;
} hone_plan_constant;

/* A function of the code, and the most that a pass needs of it. */
typedef struct hone_plan_function {
  const char* symbol;
  uint32_t shared_bytes;
  uint32_t cluster; /* blocks */
} hone_plan_function;

typedef struct hone_plan_pass {
  uint32_t function; /* its index */
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;
  int32_t cooperative, overlap;
  uint32_t parameter_count;
  const hone_plan_parameter* parameters;
} hone_plan_pass;

typedef struct hone_plan {
  const char* kernel;
  const char* dtype;
  const char* shape;         /* "rows=512,cols=2048" */
  const char* configuration; /* "block=256,vec=4" */
  const char* architecture;  /* "sm_90a": if it ends with `a`, the code runs on this architecture only */
  const uint64_t* code;
  size_t code_bytes;
  const uint64_t* problem; /* the Problem as kernels take it, by value */
  uint32_t argument_count, function_count, pass_count, constant_count, tensor_map_count;
  const hone_plan_argument* arguments;
  const hone_plan_function* functions;
  const hone_plan_pass* passes;
  const hone_plan_constant* constants;
  const hone_plan_tensor_map* tensor_maps;
} hone_plan;

/* ---- The driver, as far as it is needed ---- */

/* CUlaunchAttribute and CUlaunchConfig */
typedef struct hone_plan_attribute {
  int32_t id;
  char padding[4];
  union {
    uint32_t words[16];
    uint64_t aligned[8]; /* as the driver's, which holds pointers */
  } value;
} hone_plan_attribute;

typedef struct hone_plan_launch_config {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  void* stream;
  hone_plan_attribute* attributes;
  uint32_t attribute_count;
} hone_plan_launch_config;

typedef struct hone_plan_driver {
  void* library;
  int version; /* 12030 is 12.3 */
  int (*init)(unsigned);
  int (*driver_version)(int* version);
  int (*device_get)(int* device, int ordinal);
  int (*primary_context_retain)(void** context, int device);
  int (*context_set_current)(void* context);
  int (*context_synchronize)(void);
  int (*memory_allocate)(uint64_t* address, size_t bytes);
  int (*memory_free)(uint64_t address);
  int (*copy_to_device)(uint64_t to, const void* from, size_t bytes);
  int (*copy_to_host)(void* to, uint64_t from, size_t bytes);
  int (*copy_on_device)(uint64_t to, uint64_t from, size_t bytes, void* stream);
  int (*fill)(uint64_t to, unsigned char pattern, size_t bytes, void* stream);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* symbol);
  int (*module_variable)(uint64_t* address, size_t* bytes, void* module, const char* symbol);
  int (*function_set_attribute)(void* function, int attribute, int value);
  int (*launch)(const hone_plan_launch_config* config, void* function, void** parameters, void** extra);
  int (*tensor_map_encode)(void* map, int type, uint32_t rank, void* address, const uint64_t* size, const uint64_t* stride_bytes,
                           const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int l2_promotion, int fill);
  int (*error_text)(int error, const char** text);
} hone_plan_driver;

typedef struct hone_plan_loaded {
  const hone_plan* plan;
  hone_plan_driver driver;
  void* module;
  void* functions[HONE_PLAN_MOST_FUNCTIONS];
  uint64_t constants[HONE_PLAN_MOST_CONSTANTS];
  uint64_t workspaces[HONE_PLAN_MOST_ARGUMENTS]; /* 0: the argument is none */
  char message[256];
} hone_plan_loaded;

/* ---- What follows is the launcher ---- */

static inline int hone_plan_fail(const hone_plan_driver* driver, int error, char* message, size_t room, const char* doing,
                                 const char* what) {
  const char* text = "the plan does not fit this launcher";
  if (error > 0 && (driver->error_text == NULL || driver->error_text(error, &text) != 0 || text == NULL)) {
    text = "an error of the CUDA driver";
  }
  snprintf(message, room, "%s %s: %s (%d)", doing, what, text, error);
  return error;
}

static inline int hone_plan_find(void* library, void* function, const char* symbol, char* message, size_t room) {
  void* const found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found); /* C has no cast from an object to a function */
  if (found == NULL) {
    snprintf(message, room, "the CUDA driver has no %s: it is too old", symbol);
    return HONE_PLAN_INVALID;
  }
  return 0;
}

/* Opens libcuda.so.1. */
static inline int hone_plan_open_driver(hone_plan_driver* driver, char* message, size_t room) {
  struct {
    void* function;
    const char* symbol;
  } wanted[19];
  size_t i, count = 0;
  void* encode;
  memset(driver, 0, sizeof *driver);
  driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver->library == NULL) {
    snprintf(message, room, "no NVIDIA driver: %s", dlerror());
    return HONE_PLAN_INVALID;
  }
#define HONE_PLAN_WANT(field, name) (wanted[count].function = &driver->field, wanted[count++].symbol = name)
  HONE_PLAN_WANT(init, "cuInit");
  HONE_PLAN_WANT(driver_version, "cuDriverGetVersion");
  HONE_PLAN_WANT(device_get, "cuDeviceGet");
  HONE_PLAN_WANT(primary_context_retain, "cuDevicePrimaryCtxRetain");
  HONE_PLAN_WANT(context_set_current, "cuCtxSetCurrent");
  HONE_PLAN_WANT(context_synchronize, "cuCtxSynchronize");
  HONE_PLAN_WANT(memory_allocate, "cuMemAlloc_v2");
  HONE_PLAN_WANT(memory_free, "cuMemFree_v2");
  HONE_PLAN_WANT(copy_to_device, "cuMemcpyHtoD_v2");
  HONE_PLAN_WANT(copy_to_host, "cuMemcpyDtoH_v2");
  HONE_PLAN_WANT(copy_on_device, "cuMemcpyDtoDAsync_v2");
  HONE_PLAN_WANT(fill, "cuMemsetD8Async");
  HONE_PLAN_WANT(module_load, "cuModuleLoadData");
  HONE_PLAN_WANT(module_unload, "cuModuleUnload");
  HONE_PLAN_WANT(module_function, "cuModuleGetFunction");
  HONE_PLAN_WANT(module_variable, "cuModuleGetGlobal_v2");
  HONE_PLAN_WANT(function_set_attribute, "cuFuncSetAttribute");
  HONE_PLAN_WANT(launch, "cuLaunchKernelEx");
  HONE_PLAN_WANT(error_text, "cuGetErrorString");
#undef HONE_PLAN_WANT
  for (i = 0; i < count; ++i) {
    if (hone_plan_find(driver->library, wanted[i].function, wanted[i].symbol, message, room) != 0) {
      return HONE_PLAN_INVALID;
    }
  }
  /* Drivers before 12.0 have none; no plan for their devices needs one. */
  encode = dlsym(driver->library, "cuTensorMapEncodeTiled");
  memcpy(&driver->tensor_map_encode, &encode, sizeof encode);
  return driver->driver_version(&driver->version) == 0 ? 0 : HONE_PLAN_INVALID;
}

/* Makes the context of a device current in this thread: for programs without CUDA code of their own. */
static inline int hone_plan_use_device(hone_plan_driver* driver, int ordinal, char* message, size_t room) {
  void* context = NULL;
  int device = 0, error = hone_plan_open_driver(driver, message, room);
  if (error != 0) {
    return error;
  }
  error = driver->init(0);
  error = error != 0 ? error : driver->device_get(&device, ordinal);
  error = error != 0 ? error : driver->primary_context_retain(&context, device);
  error = error != 0 ? error : driver->context_set_current(context);
  return error == 0 ? 0 : hone_plan_fail(driver, error, message, room, "open", "the device");
}

/* Frees what hone_plan_load took; nothing of the plan may be running. After a hone_plan_load that failed, too. */
static inline void hone_plan_unload(hone_plan_loaded* loaded) {
  size_t i;
  for (i = 0; i < HONE_PLAN_MOST_ARGUMENTS; ++i) {
    if (loaded->workspaces[i] != 0) {
      loaded->driver.memory_free(loaded->workspaces[i]);
      loaded->workspaces[i] = 0;
    }
  }
  if (loaded->module != NULL) {
    loaded->driver.module_unload(loaded->module);
    loaded->module = NULL;
  }
}

static inline int hone_plan_find_function(hone_plan_loaded* loaded, uint32_t i) {
  enum { kMaxDynamicShared = 8, kNonPortableCluster = 14, kPortableCluster = 8 };
  const hone_plan_function* const function = &loaded->plan->functions[i];
  hone_plan_driver* const driver = &loaded->driver;
  int error = driver->module_function(&loaded->functions[i], loaded->module, function->symbol);
  if (error == 0 && function->shared_bytes > 0) { /* with static shared memory, even a little may pass the limit without this */
    error = driver->function_set_attribute(loaded->functions[i], kMaxDynamicShared, (int)function->shared_bytes);
  }
  if (error == 0 && function->cluster > kPortableCluster) {
    error = driver->function_set_attribute(loaded->functions[i], kNonPortableCluster, 1);
  }
  return error == 0 ? 0 : hone_plan_fail(driver, error, loaded->message, sizeof loaded->message, "prepare", function->symbol);
}

static inline int hone_plan_load_parts(hone_plan_loaded* loaded) {
  const hone_plan* const plan = loaded->plan;
  hone_plan_driver* const driver = &loaded->driver;
  uint32_t i;
  int error = driver->module_load(&loaded->module, plan->code);
  if (error != 0) {
    return hone_plan_fail(driver, error, loaded->message, sizeof loaded->message, "load the code of", plan->kernel);
  }
  for (i = 0; i < plan->function_count; ++i) {
    error = hone_plan_find_function(loaded, i);
    if (error != 0) {
      return error;
    }
  }
  for (i = 0; i < plan->constant_count; ++i) {
    size_t bytes = 0;
    error = driver->module_variable(&loaded->constants[i], &bytes, loaded->module, plan->constants[i].symbol);
    if (error != 0) {
      return hone_plan_fail(driver, error, loaded->message, sizeof loaded->message, "find", plan->constants[i].symbol);
    }
  }
  for (i = 0; i < plan->argument_count; ++i) {
    if (plan->arguments[i].role == HONE_PLAN_WORKSPACE) {
      error = driver->memory_allocate(&loaded->workspaces[i], plan->arguments[i].bytes);
      if (error != 0) {
        return hone_plan_fail(driver, error, loaded->message, sizeof loaded->message, "allocate", plan->arguments[i].name);
      }
    }
  }
  return 0;
}

static inline int hone_plan_passes_fit(const hone_plan* plan) {
  uint32_t i, p, maps;
  for (i = 0; i < plan->pass_count; ++i) {
    for (p = 0, maps = 0; p < plan->passes[i].parameter_count; ++p) {
      maps += plan->passes[i].parameters[p].kind == HONE_PLAN_TENSOR_MAP ? 1 : 0;
    }
    if (p > HONE_PLAN_MOST_PARAMETERS || maps > HONE_PLAN_MOST_TENSOR_MAPS) {
      return 0;
    }
  }
  return 1;
}

/* Loads the code into the current context, and allocates workspaces. */
static inline int hone_plan_load(hone_plan_loaded* loaded, const hone_plan* plan) {
  uint32_t i;
  int error;
  memset(loaded, 0, sizeof *loaded);
  loaded->plan = plan;
  error = hone_plan_open_driver(&loaded->driver, loaded->message, sizeof loaded->message);
  if (error != 0) {
    return error;
  }
  if (plan->argument_count > HONE_PLAN_MOST_ARGUMENTS || plan->function_count > HONE_PLAN_MOST_FUNCTIONS ||
      plan->constant_count > HONE_PLAN_MOST_CONSTANTS || !hone_plan_passes_fit(plan)) {
    return hone_plan_fail(&loaded->driver, HONE_PLAN_INVALID, loaded->message, sizeof loaded->message, "load", plan->kernel);
  }
  for (i = 0; i < plan->tensor_map_count; ++i) {
    if (plan->tensor_maps[i].axes > 0 && loaded->driver.tensor_map_encode == NULL) {
      snprintf(loaded->message, sizeof loaded->message, "%s uses tensor maps: it needs a CUDA driver of 12.0 or later", plan->kernel);
      return HONE_PLAN_INVALID;
    }
  }
  error = hone_plan_load_parts(loaded);
  if (error != 0) {
    hone_plan_unload(loaded);
  }
  return error;
}

/* Where each argument's value is: of the caller's, in the order of the kernel file, and of workspaces. */
static inline int hone_plan_place(hone_plan_loaded* loaded, void* const* arguments, size_t count, void** places) {
  const hone_plan* const plan = loaded->plan;
  uint32_t i;
  size_t next = 0;
  for (i = 0; i < plan->argument_count; ++i) {
    if (plan->arguments[i].role == HONE_PLAN_WORKSPACE) {
      places[i] = &loaded->workspaces[i];
    } else {
      places[i] = next < count ? arguments[next] : NULL;
      if (places[i] == NULL) {
        snprintf(loaded->message, sizeof loaded->message, "%s: argument %u (%s) is missing", plan->kernel, (unsigned)next,
                 plan->arguments[i].name);
        return HONE_PLAN_INVALID;
      }
      ++next;
    }
  }
  if (next != count) {
    snprintf(loaded->message, sizeof loaded->message, "%s takes %u arguments; %u were passed", plan->kernel, (unsigned)next,
             (unsigned)count);
    return HONE_PLAN_INVALID;
  }
  return 0;
}

static inline uint64_t hone_plan_address(const void* place) {
  uint64_t address = 0;
  memcpy(&address, place, sizeof address);
  return address;
}

/* Clears what has to begin as zeros, and fills constant memory. */
static inline int hone_plan_begin(hone_plan_loaded* loaded, void* stream, void* const* places) {
  const hone_plan* const plan = loaded->plan;
  uint32_t i;
  for (i = 0; i < plan->argument_count; ++i) {
    const hone_plan_argument* const argument = &plan->arguments[i];
    const int error = argument->zeroed ? loaded->driver.fill(hone_plan_address(places[i]), 0, argument->bytes, stream) : 0;
    if (error != 0) {
      return hone_plan_fail(&loaded->driver, error, loaded->message, sizeof loaded->message, "clear", argument->name);
    }
  }
  for (i = 0; i < plan->constant_count; ++i) {
    const hone_plan_constant* const constant = &plan->constants[i];
    const int error =
        loaded->driver.copy_on_device(loaded->constants[i], hone_plan_address(places[constant->argument]), constant->bytes, stream);
    if (error != 0) {
      return hone_plan_fail(&loaded->driver, error, loaded->message, sizeof loaded->message, "fill", constant->symbol);
    }
  }
  return 0;
}

static inline int hone_plan_encode(hone_plan_loaded* loaded, const hone_plan_tensor_map* map, void* const* places, void* to) {
  const uint32_t ones[5] = {1, 1, 1, 1, 1};
  int error;
  memset(to, 0, HONE_PLAN_TENSOR_MAP_BYTES);
  if (map->axes == 0) {
    return 0;
  }
  error = loaded->driver.tensor_map_encode(to, map->type, map->axes,
                                           (void*)(uintptr_t)(hone_plan_address(places[map->argument]) + map->offset_bytes), map->size,
                                           map->stride_bytes, map->box, ones, 0, map->swizzle, map->l2_promotion, 0);
  return error == 0 ? 0
                    : hone_plan_fail(&loaded->driver, error, loaded->message, sizeof loaded->message, "make a tensor map of",
                                     loaded->plan->arguments[map->argument].name);
}

static inline int hone_plan_launch_pass(hone_plan_loaded* loaded, void* stream, void* const* places, uint32_t i) {
  enum { kCooperative = 2, kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };
  enum { kCapturesOverlap = 12030 }; /* an older driver cannot put it into a graph */
  const hone_plan_pass* const pass = &loaded->plan->passes[i];
  unsigned char room[HONE_PLAN_MOST_TENSOR_MAPS * HONE_PLAN_TENSOR_MAP_BYTES + HONE_PLAN_TENSOR_MAP_ALIGNMENT];
  unsigned char* next_map = room + (HONE_PLAN_TENSOR_MAP_ALIGNMENT - (uintptr_t)room % HONE_PLAN_TENSOR_MAP_ALIGNMENT);
  void* parameters[HONE_PLAN_MOST_PARAMETERS];
  hone_plan_attribute attributes[3];
  hone_plan_launch_config config;
  uint32_t p;
  int error = 0;
  memset(attributes, 0, sizeof attributes);
  memset(&config, 0, sizeof config);
  for (p = 0; p < pass->parameter_count && error == 0; ++p) {
    const hone_plan_parameter* const parameter = &pass->parameters[p];
    if (parameter->kind == HONE_PLAN_ARGUMENT) {
      parameters[p] = places[parameter->value];
    } else if (parameter->kind == HONE_PLAN_PROBLEM) {
      parameters[p] = (void*)(uintptr_t)loaded->plan->problem;
    } else if (parameter->kind == HONE_PLAN_RUN_INDEX) {
      parameters[p] = (void*)(uintptr_t)&parameter->value;
    } else {
      error = hone_plan_encode(loaded, &loaded->plan->tensor_maps[parameter->value], places, next_map);
      parameters[p] = next_map;
      next_map += HONE_PLAN_TENSOR_MAP_BYTES;
    }
  }
  if (error != 0) {
    return error;
  }
  memcpy(config.grid, pass->grid, sizeof config.grid);
  memcpy(config.block, pass->block, sizeof config.block);
  config.shared_bytes = pass->shared_bytes;
  config.stream = stream;
  config.attributes = attributes;
  if (pass->cluster[0] * pass->cluster[1] * pass->cluster[2] > 1) {
    attributes[config.attribute_count].id = kClusterDimension;
    memcpy(attributes[config.attribute_count++].value.words, pass->cluster, sizeof pass->cluster);
  }
  if (pass->cooperative) {
    attributes[config.attribute_count].id = kCooperative;
    attributes[config.attribute_count++].value.words[0] = 1;
  }
  if (pass->overlap && loaded->driver.version >= kCapturesOverlap) {
    attributes[config.attribute_count].id = kProgrammaticStreamSerialization;
    attributes[config.attribute_count++].value.words[0] = 1;
  }
  error = loaded->driver.launch(&config, loaded->functions[pass->function], parameters, NULL);
  return error == 0 ? 0
                    : hone_plan_fail(&loaded->driver, error, loaded->message, sizeof loaded->message, "launch",
                                     loaded->plan->functions[pass->function].symbol);
}

/* Enqueues all passes on `stream` (a CUstream; NULL is the default one). `arguments`: where each value is, in the order of the kernel file,
 * without workspaces and Problem: of an array, a variable that holds its device address, aligned to 16 bytes; of a scalar, one of its
 * type. They are read before the function returns. May be captured into a graph. */
static inline int hone_plan_launch(hone_plan_loaded* loaded, void* stream, void* const* arguments, size_t count) {
  void* places[HONE_PLAN_MOST_ARGUMENTS];
  uint32_t i;
  int error;
  loaded->message[0] = 0; /* of an earlier launch */
  error = hone_plan_place(loaded, arguments, count, places);
  error = error != 0 ? error : hone_plan_begin(loaded, stream, places);
  for (i = 0; i < loaded->plan->pass_count && error == 0; ++i) {
    error = hone_plan_launch_pass(loaded, stream, places, i);
  }
  return error;
}

#ifdef __cplusplus
}
#endif

#endif
