/* The C ABI of Hone's plugins: search strategies and devices that live in a shared object of their own.
 *
 * A plugin exports one function, `hone_plugin_entry`, that returns its table. Everything crosses the border as plain data and function
 * pointers, so a plugin may be built by another compiler, or be written in another language. C++ authors include <hone/plugin.hpp>, which
 * makes a strategy of a class. Rules:
 *  - A function that can fail returns 0 for success and anything else for a failure, whose message it writes to `hone_message`.
 *  - Nothing is freed by the other side: who allocates, frees. What a table points to lives as long as the process.
 *  - One instance is called from one thread at a time; different instances may be called at once.
 *
 * Nothing here changes its place any more; what comes later is appended, never into padding. So that either side may be the older one:
 *  - A struct that begins with `struct_size` ends there. What it lacks counts as 0 or null, whose meaning each field says; what is behind
 *    the end that one knows is ignored. HONE_HAS asks whether a field is there. A table may end after the fields that it must have.
 *  - Structs in arrays lie a stride apart, which is given beside the array: `HONE_AT(type, first, stride, i)`. Only the first
 *    min(stride, sizeof) bytes of one are there. A stride of 0, also one that is not there, is that of ABI 2.
 *  - A struct that Hone hands over alone, without a `struct_size`, lies in HONE_ROOM bytes (hone_compile_sink, hone_resources,
 *    hone_tolerance, hone_comparison, hone_readings), zeros behind what Hone knows: a plugin may read and write there what it knows.
 *    hone_position and hone_message stay as they are. */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised where a plugin must do something else than before. Version 3: it heeds strides and knows HONE_TOO_SLOW. Plugins of version 2 are
 * loaded as well: their structs are prefixes of these, the strides are theirs, and an outcome that they do not know comes as one they do:
 * HONE_TOO_SLOW as HONE_OK, a slow one, or as HONE_TIMEOUT where the time is not known. Any other version is refused. */
#define HONE_PLUGIN_ABI 3
#define HONE_PLUGIN_ABI_OLDEST 2

#define HONE_HAS(type, pointer, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))
#define HONE_AT(type, first, stride, i) ((const type*)((const char*)(first) + (i) * (stride)))
#define HONE_ROOM 256

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
  int32_t kind;              /* HONE_ORDINAL: values are numbers, in the order of the kernel file; HONE_CATEGORICAL: they are labels */
  uint32_t count;            /* of values, at least 1 */
  const double* values;      /* as numbers; of a label its place */
  const char* const* labels; /* as a person would write them */
} hone_dimension;

enum { HONE_HAMMING = 0 /* differs in one dimension */, HONE_ADJACENT = 1 /* and there by one step in the list of values */ };

/* One condition of `likely` in the kernel file: what its author expects of the fastest. */
typedef struct hone_expectation {
  const char *text, *comment; /* "c.stages == 0 || p.cols >= 8192"; the reason beside it, may be empty */
} hone_expectation;

/* The valid configurations: positions 0 to size - 1, in a fixed order. All functions may be called from any thread. */
typedef struct hone_space {
  size_t struct_size;
  const void* self; /* the first argument of each function */
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
  /* ---- Since version 3 ---- */
  size_t dimension_stride;
  /* What the kernel's author expects. It decides nothing: a position that breaks an expectation is as valid as any other, and may win. With
   * none there are none to heed: the author has none, the user will not have them heeded, or all positions of this space meet them. */
  uint32_t expectation_count;
  const hone_expectation* expectations;
  size_t expectation_stride;
  /* How many positions meet them all: `size` if there are none; never 0. At most so many where `size` is no exact count. */
  hone_position likely_size;
  /* Whether a position meets them all: 1 or 0, also 0 for one that is not below `size`. */
  int32_t (*is_likely)(const void* self, hone_position position);
  /* As `sample`, of those that meet them all. */
  size_t (*sample_likely)(const void* self, uint64_t seed, size_t count, hone_position* positions);
  /* The expectations that a position breaks, as places in `expectations`, ascending. Writes at most `capacity` and returns how many there
   * are. */
  size_t (*broken)(const void* self, hone_position position, size_t capacity, uint32_t* places);
} hone_space;

/* ---- What came of a configuration ---- */

enum {
  HONE_OK = 0,
  HONE_COMPILE_ERROR = 1,
  HONE_COMPILE_TIMEOUT = 2,
  HONE_STATIC_REJECT = 3, /* it cannot launch on this device: registers, shared memory, block size */
  HONE_LAUNCH_FAILURE = 4,
  HONE_ILLEGAL_ACCESS = 5,
  HONE_TIMEOUT = 6,
  HONE_DEADLOCK = 7,
  HONE_WRONG_RESULT = 8,
  HONE_RACE = 9,
  /* Since version 3: left after one cold run far behind the fastest. Nobody knows whether it is right, and it cannot win; its time is known
   * about, and says as much of the space as any other. */
  HONE_TOO_SLOW = 10
};

typedef struct hone_observation {
  hone_position position;
  int32_t outcome;
  double time_us;         /* median; meaningful only for HONE_OK and HONE_TOO_SLOW */
  double cost_seconds;    /* what the trial cost: compile, validate, time */
  double compile_seconds; /* of these, compiling */
  /* What the compiler said; 0 where it did not come so far or the device does not know. */
  int64_t registers, spill_bytes, shared_bytes;
  double occupancy; /* resident threads / most possible */
} hone_observation;

/* What the store knows of a kernel of this name from other sessions: of another shape, dtype or device, and earlier ones of this very
 * problem. Its source may have been another one then. Only configurations that are valid here are listed, with their positions here; times
 * are those of there. */
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
  uint64_t seed;              /* the same seed and the same outcomes give the same proposals */
  const hone_position* first; /* the kernel's default, which is always tried before the strategy is asked; null if there is none */
  const double* parameters;   /* one for each declared parameter, in their order, checked */
  uint64_t expected_trials;   /* how long it may go on; 0 if not known */
  const hone_prior* priors;
  size_t prior_count;
  const void* model; /* what `save` wrote in the latest earlier session of this kernel and strategy; null if none */
  size_t model_bytes;
  /* ---- Since version 3 ---- */
  size_t prior_stride;
  size_t observation_stride; /* of the priors' observations and of those that `tell` is given */
} hone_strategy_context;

typedef struct hone_strategy {
  size_t struct_size;
  const char* name;    /* what users type: lower case, digits and underscores */
  const char* summary; /* one line */
  const char* source;  /* paper or URL of the algorithm; may be empty */
  const hone_parameter* parameters;
  size_t parameter_count;
  int32_t (*create)(const hone_strategy_context* context, void** instance, hone_message* message);
  /* Writes up to `wanted` positions and how many it wrote. Fewer, also none, if it waits for outcomes. Hone drops what is invalid; what was
   * proposed before is free: its observation is told again. */
  int32_t (*ask)(void* instance, size_t wanted, hone_position* positions, size_t* count, hone_message* message);
  /* Outcomes, in the order they came; also those it did not ask for (the default, an earlier part of a resumed session). */
  int32_t (*tell)(void* instance, const hone_observation* observations, size_t count, hone_message* message);
  /* Called once at the end of a session: hands to `write` what a later session may begin with, at most 1 MiB. May be null. */
  int32_t (*save)(void* instance, void* sink, void (*write)(void* sink, const void* bytes, size_t count), hone_message* message);
  void (*destroy)(void* instance);
  /* ---- Since version 3 ---- */
  size_t parameter_stride;
  /* Not 0: it weighs the expectations of a space by itself, and sees all valid configurations from the beginning. Else a session shows it
   * the likely ones as its space, and when they have had their share another instance all of them. */
  int64_t weighs_expectations;
} hone_strategy;

/* ---- Devices ---- */

/* What a device function returns beside 0. After HONE_LOST the process is replaced and the device opened again; any other value means that
 * this call failed and the device is as it was. */
enum { HONE_LOST = 2 };

/* Those up to HONE_I32 are in every version; a device that does not know a later one answers with an error. HONE_BOOL is a byte, 0 or 1;
 * HONE_E4M3 and HONE_E5M2 are 8-bit floats; HONE_I4X2 and HONE_U4X2 are bytes, of which nobody looks at the halves. */
enum {
  HONE_F32 = 0,
  HONE_F16 = 1,
  HONE_BF16 = 2,
  HONE_F64 = 3,
  HONE_I32 = 4,
  HONE_I8 = 5,
  HONE_U8 = 6,
  HONE_I16 = 7,
  HONE_U16 = 8,
  HONE_U32 = 9,
  HONE_I64 = 10,
  HONE_U64 = 11,
  HONE_BOOL = 12,
  HONE_E4M3 = 13,
  HONE_E5M2 = 14,
  HONE_I4X2 = 15,
  HONE_U4X2 = 16
};

typedef struct hone_text {
  const char *name, *text;
} hone_text;

typedef struct hone_property {
  const char* name;
  int64_t value;
} hone_property;

/* One device of this machine. */
typedef struct hone_device_info {
  size_t struct_size;
  const char* id;           /* what users type: the table's name, or the name, a colon and a number ("mine:0") */
  const char* product;      /* records are found by it */
  const char* uuid;         /* of the physical device; may be empty */
  const char* architecture; /* compiled code is kept by this and by `compiler` of the environment */
  /* d.* of kernel files. Each of: compute_capability, l2_bytes, memory, multiprocessors, registers_per_multiprocessor,
   * shared_memory_per_block, shared_memory_per_multiprocessor, threads_per_block, threads_per_multiprocessor, warp_size. Sizes in bytes. */
  const hone_property* properties;
  size_t property_count;
  /* What a record is stale against ("driver", "compiler"). Without "compiler" it is the plugin's name and version. */
  const hone_text* environment;
  size_t environment_count;
  int32_t compile_overlaps; /* whether compiling on the host's cores leaves timing on this device undisturbed */
  /* ---- Since version 3 ---- */
  size_t property_stride, environment_stride;
} hone_device_info;

/* Largest over the passes; 0 where it is not known. */
typedef struct hone_resources {
  int64_t registers, spill_bytes, stack_bytes; /* per thread */
  int64_t shared_bytes;                        /* per block */
  double occupancy;                            /* resident threads / most possible */
} hone_resources;

/* A function of the kernel file, instantiated. */
typedef struct hone_function {
  const char* expression;   /* "softmax<f32, Config{256, 4, true}>" */
  const int32_t* arguments; /* of each of its parameters the place among the kernel's arguments; -1: the Problem. */
  size_t argument_count;    /* A reference's parameters come after the index, a long */
} hone_function;

/* What one artifact is asked of: a configuration, or the reference, which has passes too. */
typedef struct hone_unit {
  const char* configuration;      /* "block=256,vec=4,online=true"; null for the reference */
  const hone_function* functions; /* of each pass the __global__ function; of the reference: the one that is called for each index */
  size_t function_count;
  const char* const* options; /* the compiler options that the configuration sets */
  size_t option_count;
} hone_unit;

typedef struct hone_compile_request {
  size_t struct_size;
  const char *kernel, *file, *source; /* its name, its path for messages, its text */
  const hone_text* headers;           /* what it may include: "hone/kernel.h" and its kin, and the file's own, as it names them */
  size_t header_count;
  int32_t dtype;                     /* of several type parameters that of the first; the functions are named with all of them */
  const char* const* problem_fields; /* of struct Problem, each a long; without STATIC ones, whose values the source has */
  size_t problem_field_count;
  const hone_unit* units;
  size_t unit_count;
  /* ---- Since version 3 ---- */
  size_t header_stride, unit_stride, function_stride;
} hone_compile_request;

typedef struct hone_compiled {
  const void* bytes; /* whatever `load` reads; units compiled together may give the same bytes, which are kept once */
  size_t byte_count;
  const char* const* symbols; /* one for each function of the unit */
  hone_resources resources;
} hone_compiled;

/* Where a compiler puts its results, which are copied. Each unit is answered once; one that is not fails with the message of the call. */
typedef struct hone_compile_sink {
  void* self;
  void (*compiled)(void* self, size_t unit, const hone_compiled* compiled);
  void (*failed)(void* self, size_t unit, const char* log);
} hone_compile_sink;

/* A pass to launch. */
typedef struct hone_pass {
  int64_t grid[3], block[3], cluster[3];
  int64_t shared_bytes; /* dynamic */
  int32_t cooperative;
  const char* symbol;
  const int32_t* arguments; /* as in hone_function */
  size_t argument_count;
  int64_t extent; /* of a reference: it is called for the indices 0 to extent - 1, in a geometry of the device's own; of a kernel 0 */
} hone_pass;

/* Bytes at the address of an argument that every launch copies, on its stream and before the first pass, to a variable of the source. */
typedef struct hone_constant {
  const char* symbol;
  int32_t argument; /* its place among the kernel's arguments */
  size_t bytes;
} hone_constant;

typedef struct hone_load_request {
  size_t struct_size;
  const void* bytes; /* an artifact */
  size_t byte_count;
  const char* digest;      /* equal for equal bytes: configurations that share an artifact may share what is loaded */
  const hone_pass* passes; /* run in this order, each on what the one before it wrote */
  size_t pass_count;
  const int64_t* problem; /* the values of problem_fields */
  size_t problem_count;
  /* ---- Since version 3 ---- */
  size_t pass_stride;
  const hone_constant* constants; /* none unless the table says copies_constants */
  size_t constant_count, constant_stride;
} hone_load_request;

/* |out - ref| <= relative * |ref| + absolute_rms * rms(ref) + absolute. */
typedef struct hone_tolerance {
  double relative, absolute_rms, absolute;
} hone_tolerance;

typedef struct hone_comparison {
  uint64_t mismatches;
  uint64_t not_finite; /* NaN or infinity where the reference has none */
  uint64_t first_mismatch;
  double first_actual, first_expected;
  double max_error; /* largest |out - ref| / allowed; finite */
} hone_comparison;

/* Done before each sample, outside the timed region: `bytes` of `source` are copied to `destination`; with source null they become 0. */
typedef struct hone_preparation {
  void* destination;
  const void* source;
  size_t bytes;
} hone_preparation;

typedef struct hone_time_request {
  size_t struct_size;
  void* kernel;
  void* const* arguments;
  const hone_preparation* preparations;
  size_t preparation_count;
  size_t samples;
  int32_t flush_cache; /* nothing of the buffers is in a cache when a sample begins */
  /* ---- Since version 3 ---- */
  size_t preparation_stride;
} hone_time_request;

/* 0 where it cannot be read. */
typedef struct hone_readings {
  double sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  uint64_t throttle_reasons; /* NVML's bits */
} hone_readings;

/* A family of devices. `enumerate`, `compiler_version` and all of the compiler must work without opening a device: they run in other
 * processes. A handle is whatever the plugin likes but null. Device memory is named by addresses that arithmetic works on, device or host
 * ones. A function that is "null or ..." may be left out. Unless it says otherwise, a function returns when what it does is done. */
typedef struct hone_device {
  size_t struct_size;
  const char* name; /* what users type: lower case, digits and underscores */
  /* Hands each device of this machine to `add`, which copies it. Fails if there is none: what is missing and what to do. */
  int32_t (*enumerate)(void* sink, void (*add)(void* sink, const hone_device_info* info), hone_message* message);

  /* Writes the compiler's name and version; fails with why there is none. */
  int32_t (*compiler_version)(hone_message* message);
  int32_t (*create_compiler)(const hone_device_info* info, void** compiler, hone_message* message);
  int32_t (*compile)(void* compiler, const hone_compile_request* request, const hone_compile_sink* sink, hone_message* message);
  void (*destroy_compiler)(void* compiler);

  /* The device is closed after all that was made of it is gone. */
  int32_t (*open)(const hone_device_info* info, void** device, hone_message* message);
  void (*close)(void* device);
  int32_t (*allocate)(void* device, size_t bytes, void** address, hone_message* message);
  void (*release)(void* device, void* address);
  int32_t (*upload)(void* device, void* destination, const void* host, size_t bytes, hone_message* message);
  int32_t (*download)(void* device, void* host, const void* source, size_t bytes, hone_message* message);

  int32_t (*load)(void* device, const hone_load_request* request, void** kernel, hone_message* message);
  void (*unload)(void* device, void* kernel);
  /* Runs the passes in order, or begins to, on a stream of the caller's or, with null, the device's own. For each argument of the kernel,
   * `arguments` holds the address of its value: of a device address, or of a scalar. May be called from any thread. */
  int32_t (*launch)(void* kernel, void* stream, void* const* arguments, hone_message* message);

  /* Null, or waits until all that was launched is done; reports what failed meanwhile. */
  int32_t (*synchronize)(void* device, hone_message* message);
  /* Null, or what the driver says of a loaded kernel; without it, what the compiler said. */
  int32_t (*resources)(void* kernel, hone_resources* resources, hone_message* message);

  /* Null, or the device's own way; without it the host does it through upload and download, which is slow for large buffers. */
  int32_t (*copy)(void* device, void* destination, const void* source, size_t bytes, hone_message* message);
  /* On `stream` without waiting, if there is one; else done on return. */
  int32_t (*fill)(void* device, void* stream, void* destination, size_t bytes, uint8_t pattern, hone_message* message);
  /* Element i becomes random_element(seed, i) of hone/random.h, of signed integers random_integer(seed, i), of unsigned ones and of
   * HONE_I4X2 and HONE_U4X2 random_unsigned(seed, i), of HONE_BOOL random_boolean(seed, i): the same on every device. */
  int32_t (*randomize)(void* device, void* destination, int32_t dtype, size_t count, uint64_t seed, hone_message* message);
  /* `expected` is in device memory. A NaN never passes, an infinity equals itself alone. */
  int32_t (*compare)(void* device, const void* actual, int32_t dtype, const double* expected, size_t count, const hone_tolerance* tolerance,
                     hone_comparison* comparison, hone_message* message);
  /* Any digest of the bytes. */
  int32_t (*checksum)(void* device, const void* source, size_t bytes, uint64_t* checksum, hone_message* message);
  /* Microseconds of each sample. Without it the host reads its clock around launch and synchronize. */
  int32_t (*time)(void* device, const hone_time_request* request, double* microseconds, hone_message* message);
  /* Null, or the device's state. */
  int32_t (*readings)(void* device, hone_readings* readings, hone_message* message);
  /* ---- Since version 3 ---- */
  size_t compiled_size; /* sizeof(hone_compiled) as this plugin knows it; 0: that of ABI 2 */
  /* Not 0: `load` reads the request's constants. Else kernels with CONSTANT arguments are refused. */
  int64_t copies_constants;
} hone_device;

/* ---- The plugin ---- */

typedef struct hone_plugin {
  uint32_t abi; /* HONE_PLUGIN_ABI; always the first field */
  size_t struct_size;
  const char *name, *version;
  const hone_strategy* const* strategies;
  size_t strategy_count;
  /* Not in plugins built before there were devices. */
  const hone_device* const* devices;
  size_t device_count;
} hone_plugin;

/* The one function a plugin exports. */
typedef const hone_plugin* (*hone_plugin_entry_function)(void);
#define HONE_PLUGIN_ENTRY "hone_plugin_entry"

#ifdef __cplusplus
}
#endif

#endif
