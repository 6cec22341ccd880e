// A profiler's library, as NVTX opens it: keeps the names of ranges. With HONE_SHAM_PROFILER=refuses it collects nothing.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*AnyFunction)(void);
typedef struct {
  size_t bytes;
  int (*module_functions)(int module, AnyFunction*** table, unsigned* size);
} Callbacks;

static char latest[256];
static int pushed, open_ranges;

static int push(const char* name) {
  strncpy(latest, name, sizeof latest - 1);
  ++pushed;
  return open_ranges++;
}

static int pop(void) { return --open_ranges; }

int InitializeInjectionNvtx2(const void* (*get_table)(uint32_t)) {
  const char* mode = getenv("HONE_SHAM_PROFILER");
  const Callbacks* callbacks = get_table(1);
  AnyFunction** places = NULL;
  unsigned size = 0;
  if (get_table(99) != NULL || callbacks == NULL || callbacks->bytes != sizeof *callbacks) return 0;
  // A profiler asks for every module, and fills what it collects.
  for (int module = 1; module <= 6; ++module) {
    if (!callbacks->module_functions(module, &places, &size) || size < 7) return 0;
    for (unsigned i = 1; i < size; ++i) {
      if (places[i] == NULL) return 0;
    }
  }
  if (callbacks->module_functions(99, &places, &size) || !callbacks->module_functions(1, &places, &size)) return 0;
  if (mode != NULL && strcmp(mode, "refuses") == 0) return 1;
  *places[9] = (AnyFunction)push;
  *places[11] = (AnyFunction)pop;
  return 1;
}

const char* sham_profiler_latest(void) { return latest; }
int sham_profiler_pushed(void) { return pushed; }
int sham_profiler_open(void) { return open_ranges; }
