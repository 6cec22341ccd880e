/* A search strategy in C: goes to the best neighbour of the best configuration so far, and to a random one where there is none left.
 *   gcc -std=c99 -shared -fPIC $(pkg-config --cflags hone-plugin) descent.c -o descent.so */
#include <hone/plugin.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEIGHBOURS = 256 };

typedef struct descent {
  const hone_space* space;
  size_t observation_stride;
  uint64_t draws; /* seed of the next random position */
  hone_position best, around[MOST_NEIGHBOURS];
  size_t next, count; /* of `around`: what is proposed next, and how many there are */
  double best_us;     /* 0: nothing is known yet */
} descent;

static void look_around(descent* self) {
  size_t found = self->space->neighbours(self->space->self, self->best, HONE_HAMMING, MOST_NEIGHBOURS, self->around);
  self->count = found < MOST_NEIGHBOURS ? found : MOST_NEIGHBOURS;
  self->next = 0;
}

static int32_t create(const hone_strategy_context* context, void** instance, hone_message* message) {
  descent* self = calloc(1, sizeof(*self));
  if (self == NULL) {
    strcpy(message->text, "out of memory");
    return 1;
  }
  self->space = context->space;
  self->draws = context->seed;
  self->observation_stride = HONE_HAS(hone_strategy_context, context, observation_stride) ? context->observation_stride : 0;
  *instance = self;
  return 0;
}

/* What was proposed before costs nothing: Hone tells its outcome again. */
static int32_t ask(void* instance, size_t wanted, hone_position* positions, size_t* count, hone_message* message) {
  descent* self = instance;
  (void)message;
  for (*count = 0; *count < wanted; ++*count) {
    if (self->next < self->count) {
      positions[*count] = self->around[self->next++];
    } else if (self->space->sample(self->space->self, self->draws++, 1, &positions[*count]) == 0) {
      break;
    }
  }
  return 0;
}

static int32_t tell(void* instance, const hone_observation* observations, size_t count, hone_message* message) {
  descent* self = instance;
  size_t stride = self->observation_stride != 0 ? self->observation_stride : sizeof(hone_observation), i;
  (void)message;
  for (i = 0; i < count; ++i) {
    const hone_observation* seen = HONE_AT(hone_observation, observations, stride, i);
    if (seen->outcome == HONE_OK && (self->best_us == 0 || seen->time_us < self->best_us)) {
      self->best = seen->position;
      self->best_us = seen->time_us;
      look_around(self);
    }
  }
  return 0;
}

/* By name, so that fields which a later header appends are 0. */
static const hone_strategy kDescent = {
    .struct_size = sizeof(hone_strategy),
    .name = "descent",
    .summary = "to the best neighbour of the best, else anywhere",
    .source = "",
    .create = create,
    .ask = ask,
    .tell = tell,
    .destroy = free,
};
static const hone_strategy* const kStrategies[] = {&kDescent};
static const hone_plugin kPlugin = {
    .abi = HONE_PLUGIN_ABI, .struct_size = sizeof(hone_plugin), .name = "descent", .version = "1.0", .strategies = kStrategies, .strategy_count = 1};

const hone_plugin* hone_plugin_entry(void) { return &kPlugin; }
