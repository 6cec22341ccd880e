/* A strategy in C against the header of ABI 2 (hone/plugin.h beside this file, frozen): it walks through the space from its end, and saves
 * what it was told, "position:outcome:time" and a blank each, priors first with a "p" before. An outcome that ABI 2 does not have is a
 * failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hone/plugin.h"

#if HONE_PLUGIN_ABI != 2
#error "this is to be built against the header of ABI 2"
#endif

typedef struct walker {
  uint64_t next, step;
  size_t length;
  char told[65536];
} walker;

static int32_t fail(hone_message* message, const char* text) {
  snprintf(message->text, sizeof(message->text), "%s", text);
  return 1;
}

static int32_t note(walker* self, const char* mark, const hone_observation* seen, hone_message* message) {
  if (seen->outcome < HONE_OK || seen->outcome > HONE_RACE) {
    return fail(message, "an outcome that ABI 2 does not have");
  }
  if (self->length + 100 < sizeof(self->told)) {
    self->length += (size_t)sprintf(self->told + self->length, "%s%llu:%d:%.0f ", mark, (unsigned long long)seen->position.low,
                                    seen->outcome, seen->time_us);
  }
  return 0;
}

static int32_t create(const hone_strategy_context* context, void** instance, hone_message* message) {
  const hone_space* space = context->space;
  uint16_t digits[64];
  hone_position back;
  walker* self;
  if (context->struct_size < sizeof(*context) || space->struct_size < sizeof(*space) || space->dimension_count > 64) {
    return fail(message, "what it is made from is shorter than ABI 2 says");
  }
  if (space->at(space->self, context->space->size, digits) == 0 || space->at(space->self, (hone_position){0, 0}, digits) != 0 ||
      space->index(space->self, digits, &back) != 0 || back.low != 0) {
    return fail(message, "the space's functions do not fit together");
  }
  self = calloc(1, sizeof(*self));
  self->next = space->size.low;
  self->step = (uint64_t)context->parameters[0];
  for (size_t p = 0; p < context->prior_count; ++p) {
    for (size_t i = 0; i < context->priors[p].observation_count; ++i) {
      if (note(self, "p", &context->priors[p].observations[i], message) != 0) {
        free(self);
        return 1;
      }
    }
  }
  *instance = self;
  return 0;
}

static int32_t ask(void* instance, size_t wanted, hone_position* positions, size_t* count, hone_message* message) {
  walker* self = instance;
  (void)message;
  for (*count = 0; *count < wanted && self->next >= self->step; ++*count) {
    self->next -= self->step;
    positions[*count] = (hone_position){self->next, 0};
  }
  return 0;
}

static int32_t tell(void* instance, const hone_observation* observations, size_t count, hone_message* message) {
  for (size_t i = 0; i < count; ++i) {
    if (note(instance, "", &observations[i], message) != 0) {
      return 1;
    }
  }
  return 0;
}

static int32_t save(void* instance, void* sink, void (*write)(void* sink, const void* bytes, size_t count), hone_message* message) {
  walker* self = instance;
  (void)message;
  write(sink, self->told, self->length);
  return 0;
}

static const hone_parameter kParameters[] = {{"step", "positions from one proposal to the next", HONE_INTEGER, 1, 1, 100},
                                             {"unused", "nothing", HONE_FLAG, 0, 0, 1}};
static const hone_strategy kWalker = {
    sizeof(hone_strategy), "walker", "from the end to the beginning", "", kParameters, 2, create, ask, tell, save, free};
static const hone_strategy* const kStrategies[] = {&kWalker};
static const hone_plugin kPlugin = {HONE_PLUGIN_ABI, sizeof(hone_plugin), "walker", "2.0", kStrategies, 1, NULL, 0};

__attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry(void);
const hone_plugin* hone_plugin_entry(void) { return &kPlugin; }
