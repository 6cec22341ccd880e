/* Stands in for CUPTI where there is no GPU: the functions that Hone binds, for a made-up chip, with the order of calls that NVIDIA's
   documentation asks for. A kernel is a call of sham_cupti_kernel(). HONE_SHAM_CUPTI=NUMBER makes cuptiRangeProfilerEnable fail with that
   status. A host that was asked for a metric it lacks takes no other, as the real one's. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kInvalidParameter = 1, kInvalidOperation = 7, kUnknown = 999, kPasses = 3, kImageBytes = 32, kMostKernels = 8 };

typedef struct {
  size_t size;
  void* reserved;
  void* values[9];
} Params;

static struct {
  int initialized, enabled, started, decoded;
  int passes_done, kernels, kernels_of_pass;
} state;
static struct {
  int broken;
  size_t metrics;
} host;

static const char* const kBases[] = {
    "gpu__time_duration", "dram__bytes_op_read",        "dram__bytes",        "lts__t_sectors_lookup_hit",
    "lts__t_sectors",     "lts__t_sectors_lookup_miss", "smsp__warps_active", "smsp__warps_issue_stalled_barrier",
    "sm__warps_active",   "smsp__warps_issue_stalled_x"};

int cuptiGetVersion(uint32_t* version) {
  *version = 130100;
  return kSuccess;
}
int cuptiGetResultString(int status, const char** text) {
  *text = status == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_OF_SHAM";
  return kSuccess;
}

int cuptiProfilerInitialize(Params* p) {
  state.initialized = p->size == 16;
  return state.initialized ? kSuccess : kInvalidParameter;
}
int cuptiProfilerDeviceSupported(Params* p) {
  int* const levels = (int*)p->values;
  for (int i = 1; i < 8; ++i) {
    levels[i] = 3;
  }
  return state.initialized && p->size == 52 ? kSuccess : kInvalidOperation;
}
int cuptiDeviceGetChipName(Params* p) {
  p->values[1] = "SH100";
  return p->values[0] == NULL ? kSuccess : kInvalidParameter; /* device 0 */
}
int cuptiProfilerGetCounterAvailability(Params* p) {
  p->values[1] = (void*)(size_t)kImageBytes;
  if (p->values[2] != NULL) {
    memset(p->values[2], 7, kImageBytes);
  }
  return state.enabled ? kInvalidOperation : kSuccess;
}

int cuptiProfilerHostInitialize(Params* p) {
  const uint8_t* const available = p->values[2];
  if (p->size != 48 || strcmp(p->values[1], "SH100") != 0 || available == NULL || available[kImageBytes - 1] != 7) {
    return kInvalidParameter;
  }
  host.broken = 0;
  host.metrics = 0;
  p->values[3] = &host;
  return kSuccess;
}
int cuptiProfilerHostDeinitialize(Params* p) { return p->values[0] == &host ? kSuccess : kInvalidParameter; }
int cuptiProfilerHostGetBaseMetrics(Params* p) {
  p->values[2] = (void*)kBases;
  p->values[3] = (void*)(sizeof kBases / sizeof *kBases);
  return p->values[0] == &host ? kSuccess : kInvalidParameter;
}
int cuptiProfilerHostConfigAddMetrics(Params* p) {
  const char* const* const names = p->values[1];
  for (size_t i = 0; i < (size_t)p->values[2]; ++i) {
    host.broken |= strcmp(names[i], "lts__t_sectors.avg.pct_of_peak_sustained_elapsed") == 0;
    ++host.metrics;
  }
  return host.broken ? kUnknown : kSuccess;
}
int cuptiProfilerHostGetConfigImageSize(Params* p) {
  p->values[1] = (void*)(size_t)kImageBytes;
  return host.broken || host.metrics == 0 ? kInvalidOperation : kSuccess;
}
int cuptiProfilerHostGetConfigImage(Params* p) {
  memset(p->values[2], 9, kImageBytes);
  return (size_t)p->values[1] == kImageBytes ? kSuccess : kInvalidParameter;
}
int cuptiProfilerHostGetNumOfPasses(Params* p) {
  p->values[2] = (void*)(size_t)kPasses;
  return ((const uint8_t*)p->values[1])[0] == 9 ? kSuccess : kInvalidParameter;
}

int cuptiRangeProfilerEnable(Params* p) {
  const char* const refuse = getenv("HONE_SHAM_CUPTI");
  if (refuse != NULL) {
    return atoi(refuse);
  }
  memset(&state, 0, sizeof state);
  state.initialized = state.enabled = 1;
  p->values[1] = &state;
  return p->size == 32 ? kSuccess : kInvalidParameter;
}
int cuptiRangeProfilerDisable(Params* p) {
  state.enabled = 0;
  return p->values[0] == &state ? kSuccess : kInvalidParameter;
}
int cuptiRangeProfilerGetCounterDataSize(Params* p) {
  p->values[5] = (void*)(size_t)kImageBytes;
  return state.enabled && (size_t)p->values[2] == host.metrics ? kSuccess : kInvalidParameter;
}
int cuptiRangeProfilerCounterDataImageInitialize(Params* p) {
  memset(p->values[2], 5, kImageBytes);
  state.passes_done = state.kernels_of_pass = state.decoded = 0;
  return (size_t)p->values[1] == kImageBytes ? kSuccess : kInvalidParameter;
}
int cuptiRangeProfilerSetConfig(Params* p) {
  const int32_t* const modes = (const int32_t*)&p->values[5]; /* auto range, user replay */
  const uint8_t *const config = p->values[2], *const data = p->values[4];
  return p->size == 90 && config[0] == 9 && data[0] == 5 && modes[0] == 1 && modes[1] == 3 ? kSuccess : kInvalidParameter;
}
int cuptiRangeProfilerStart(Params* p) {
  state.started = 1;
  state.kernels = 0;
  return p->values[0] == &state ? kSuccess : kInvalidParameter;
}
void sham_cupti_kernel(void) { state.kernels += state.started; }
int cuptiRangeProfilerStop(Params* p) {
  if (!state.started || (state.passes_done > 0 && state.kernels != state.kernels_of_pass)) {
    return kInvalidOperation; /* the replays differ */
  }
  state.started = 0;
  state.kernels_of_pass = state.kernels;
  *(uint8_t*)&p->values[3] = ++state.passes_done == kPasses;
  return kSuccess;
}
int cuptiRangeProfilerDecodeData(Params* p) {
  state.decoded = state.passes_done == kPasses;
  p->values[1] = (void*)(size_t)(state.kernels_of_pass > kMostKernels ? 1 : 0);
  return state.decoded ? kSuccess : kInvalidOperation;
}
int cuptiRangeProfilerGetCounterDataInfo(Params* p) {
  p->values[2] = (void*)(size_t)state.kernels_of_pass;
  return state.decoded ? kSuccess : kInvalidOperation;
}

/* The first kernel takes 3000 ns, the others 1000. */
static double value_of(const char* name, size_t range) {
  return strcmp(name, "gpu__time_duration.sum") == 0                              ? (range == 0 ? 3000.0 : 1000.0)
         : strcmp(name, "dram__bytes_op_read.sum") == 0                           ? 4096.0
         : strcmp(name, "dram__bytes.sum.pct_of_peak_sustained_elapsed") == 0     ? (range == 0 ? 20.0 : 60.0)
         : strcmp(name, "lts__t_sectors_lookup_hit.sum") == 0                     ? 30.0
         : strcmp(name, "lts__t_sectors_lookup_miss.sum") == 0                    ? 10.0
         : strcmp(name, "smsp__warps_active.sum") == 0                            ? 200.0
         : strcmp(name, "smsp__warps_issue_stalled_barrier.sum") == 0             ? 50.0
         : strcmp(name, "sm__warps_active.avg.pct_of_peak_sustained_active") == 0 ? 0.0 / (range == 0 ? 1.0 : 0.0)
                                                                                  : -1.0;
}
int cuptiProfilerHostEvaluateToGpuValues(Params* p) {
  const char* const* const names = p->values[4];
  for (size_t i = 0; i < (size_t)p->values[5]; ++i) {
    ((double*)p->values[6])[i] = value_of(names[i], (size_t)p->values[3]);
  }
  return p->size == 72 && state.decoded && (size_t)p->values[3] < (size_t)state.kernels_of_pass ? kSuccess : kInvalidParameter;
}
