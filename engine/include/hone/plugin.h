/* The C ABI of Hone's plugins: search strategies and devices that live in a shared object of their own.
 *
 * A plugin exports one function, `hone_plugin_entry`, that returns its table. Everything crosses the border as plain data and function
 * pointers, so a plugin may be built by another compiler, or be written in another language. C++ authors include <hone/plugin.hpp>, which
 * makes a strategy of a class. Rules:
 *  - A function that can fail returns 0 for success and anything else for a failure, whose message it writes to `hone_message`.
 *  - Nothing is freed by the other side: who allocates, frees. What a table points to lives as long as the process.
 *  - One instance is called from one thread at a time; different instances may be called at once.
 *  - Within one ABI version the tables only grow at their ends; `struct_size` says how much of one is there. */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a table changes its meaning. A plugin with another version is refused. */
#define HONE_PLUGIN_ABI 1

/* A position in the search space, or a count of them: low + high * 2^64. Spaces exceed 2^64. */
typedef struct hone_position {
  uint64_t low, high;
} hone_position;

/* Where a failing function says what went wrong: text that ends in a zero. */
typedef struct hone_message {
  char text[512];
} hone_message;

/* ---- The search space, as a strategy sees it ---- */

enum { HONE_ORDINAL = 0, HONE_CATEGORICAL = 1, HONE_BOOLEAN = 2 };

/* One tunable parameter. A configuration is written as digits: for each dimension the place of its value in `values`. */
typedef struct hone_dimension {
  const char* name;
  int32_t kind;               /* HONE_ORDINAL: values are numbers, in the order of the kernel file; HONE_CATEGORICAL: they are labels */
  uint32_t count;             /* of values, at least 1 */
  const double* values;       /* as numbers; of a label its place */
  const char* const* labels;  /* as a person would write them */
} hone_dimension;

enum { HONE_HAMMING = 0 /* differs in one dimension */, HONE_ADJACENT = 1 /* and there by one step in the list of values */ };

/* The valid configurations: positions 0 to size - 1, in a fixed order. All functions may be called from any thread. */
typedef struct hone_space {
  size_t struct_size;
  const void* self;  /* the first argument of each function */
  hone_position size;
  uint32_t dimension_count;
  const hone_dimension* dimensions;
  /* Writes the digits of a position; fails if it is not below `size`. */
  int32_t (*at)(const void* self, hone_position position, uint16_t* digits);
  /* The position of digits; fails if the configuration is not valid. */
  int32_t (*index)(const void* self, const uint16_t* digits, hone_position* position);
  /* The valid configuration nearest to digits that may be invalid: fewest steps along ordinal dimensions (each dimension is 1 wide), a
   * label that differs counts 1. In very large spaces a near one. */
  hone_position (*nearest)(const void* self, const uint16_t* digits);
  /* Up to `count` distinct positions, uniform without replacement, decided by `seed`. Returns how many. */
  size_t (*sample)(const void* self, uint64_t seed, size_t count, hone_position* positions);
  /* All valid neighbours in order of position. Writes at most `capacity` and returns how many there are. */
  size_t (*neighbours)(const void* self, hone_position position, int32_t kind, size_t capacity, hone_position* positions);
} hone_space;

/* ---- What came of a configuration ---- */

enum {
  HONE_OK = 0,
  HONE_COMPILE_ERROR = 1,
  HONE_COMPILE_TIMEOUT = 2,
  HONE_STATIC_REJECT = 3,  /* it cannot launch on this device: registers, shared memory, block size */
  HONE_LAUNCH_FAILURE = 4,
  HONE_ILLEGAL_ACCESS = 5,
  HONE_TIMEOUT = 6,
  HONE_DEADLOCK = 7,
  HONE_WRONG_RESULT = 8,
  HONE_RACE = 9
};

typedef struct hone_observation {
  hone_position position;
  int32_t outcome;
  double time_us;         /* median; meaningful only for HONE_OK */
  double cost_seconds;    /* what the trial cost: compile, validate, time */
  double compile_seconds; /* of these, compiling */
  /* What the compiler said; 0 where it did not come so far or the device does not know. */
  int64_t registers, spill_bytes, shared_bytes;
  double occupancy;       /* resident threads / most possible */
} hone_observation;

/* What the store knows of the same kernel elsewhere: another shape, dtype or device. Only configurations that are valid here are listed,
 * with their positions here; times are those of there. */
typedef struct hone_prior {
  const char *device, *dtype, *shape;
  const hone_observation* observations;
  size_t observation_count;
} hone_prior;

/* ---- Strategies ---- */

enum { HONE_REAL = 0, HONE_INTEGER = 1, HONE_FLAG = 2 };

/* A declared parameter of a strategy: help, checks and JSON are generated from it. */
typedef struct hone_parameter {
  const char *name, *help;
  int32_t type;
  double default_value, minimum, maximum;
} hone_parameter;

/* What an instance is made from. Valid, with all it points to, until the instance is destroyed. */
typedef struct hone_strategy_context {
  size_t struct_size;
  const hone_space* space;
  uint64_t seed;                    /* the same seed and the same outcomes give the same proposals */
  const hone_position* first;       /* the kernel's default, which is always tried before the strategy is asked; null if there is none */
  const double* parameters;         /* one for each declared parameter, in their order, checked */
  uint64_t expected_trials;         /* how long it may go on; 0 if not known */
  const hone_prior* priors;
  size_t prior_count;
  const void* model;                /* what `save` wrote in the latest earlier session of this kernel and strategy; null if none */
  size_t model_bytes;
} hone_strategy_context;

typedef struct hone_strategy {
  size_t struct_size;
  const char* name;     /* what users type: lower case, digits and underscores */
  const char* summary;  /* one line */
  const char* source;   /* paper or URL of the algorithm; may be empty */
  const hone_parameter* parameters;
  size_t parameter_count;
  int32_t (*create)(const hone_strategy_context* context, void** instance, hone_message* message);
  /* Writes up to `wanted` positions and how many it wrote. Fewer, also none, if it waits for outcomes. Hone drops what is invalid; what was
   * proposed before is free: its observation is told again. */
  int32_t (*ask)(void* instance, size_t wanted, hone_position* positions, size_t* count, hone_message* message);
  /* Outcomes, in the order they came; also those it did not ask for (the default, an earlier part of a resumed session). */
  int32_t (*tell)(void* instance, const hone_observation* observations, size_t count, hone_message* message);
  /* Called once at the end of a session: hands to `write` what a later session may begin with. May be null. */
  int32_t (*save)(void* instance, void* sink, void (*write)(void* sink, const void* bytes, size_t count), hone_message* message);
  void (*destroy)(void* instance);
} hone_strategy;

/* ---- The plugin ---- */

typedef struct hone_plugin {
  uint32_t abi;  /* HONE_PLUGIN_ABI; always the first field */
  size_t struct_size;
  const char *name, *version;
  const hone_strategy* const* strategies;
  size_t strategy_count;
} hone_plugin;

/* The one function a plugin exports. */
typedef const hone_plugin* (*hone_plugin_entry_function)(void);
#define HONE_PLUGIN_ENTRY "hone_plugin_entry"

#ifdef __cplusplus
}
#endif

#endif
