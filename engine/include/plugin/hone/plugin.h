/* The C ABI of Hone's plugins: search strategies and devices in a shared object.
 *
 * A plugin exports one function, `hone_plugin_entry`, that returns its table. The interface consists of plain data and function
 * pointers, so a plugin may be built by another compiler or written in another language. C++ authors include <hone/plugin.hpp>, which
 * makes a strategy from a class. Rules:
 *  - A function that can fail returns 0 for success and anything else for a failure, whose message it writes to `hone_message`.
 *  - The side that allocates memory frees it. Data that a table points to lives as long as the process.
 *  - One instance is called from one thread at a time; different instances may be called concurrently.
 *
 * Existing fields never move; new ones are appended, never into padding. Either side may be older than the other:
 *  - A struct that begins with `struct_size` ends there. Missing fields count as 0 or null, with the meaning given at each field; bytes
 *    beyond the known fields are ignored. HONE_HAS tests for a field. A table may end after its required fields.
 *  - The distance of structs in arrays is a stride, which is given beside the array: `HONE_AT(type, first, stride, i)`. Only the first
 *    min(stride, sizeof) bytes of each are valid. A stride of 0, or a missing one, means that of ABI 2.
 *  - A struct that Hone passes alone, without a `struct_size`, has HONE_ROOM bytes (hone_compile_sink, hone_resources,
 *    hone_tolerance, hone_comparison, hone_readings), with zeros after the fields that Hone knows: a plugin may access those that it knows.
 *    hone_position and hone_message never change. */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when plugins must change their behaviour. Version 3: a plugin uses strides and knows HONE_TOO_SLOW. Plugins of version 2 are
 * loaded as well: their structs are prefixes of these, they get their own strides, and HONE_TOO_SLOW, which they do not know,
 * is reported as a slow HONE_OK, or as HONE_TIMEOUT if the time is unknown. Any other version is refused. */
#define HONE_PLUGIN_ABI 3
#define HONE_PLUGIN_ABI_OLDEST 2

#define HONE_HAS(type, pointer, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))
#define HONE_AT(type, first, stride, i) ((const type*)((const char*)(first) + (i) * (stride)))
#define HONE_ROOM 256

/* A position in the search space, or a count of them: low + high * 2^64. Spaces exceed 2^64. */
typedef struct hone_position {
  uint64_t low, high;
} hone_position;

/* Receives the message of a failing function: zero-terminated text. */
typedef struct hone_message {
  char text[512];
} hone_message;

/* ---- The search space, as a strategy sees it ---- */

enum { HONE_ORDINAL = 0, HONE_CATEGORICAL = 1, HONE_BOOLEAN = 2 };

/* One tunable parameter. A configuration is written as digits: for each dimension the index of its value in `values`. */
typedef struct hone_dimension {
  const char* name;
  int32_t kind;              /* HONE_ORDINAL: values are numbers, in the order of the kernel file; HONE_CATEGORICAL: they are labels */
  uint32_t count;            /* of values, at least 1 */
  const double* values;      /* as numbers; for labels, their index */
  const char* const* labels; /* as a user writes them */
} hone_dimension;

enum { HONE_HAMMING = 0 /* differs in one dimension */, HONE_ADJACENT = 1 /* by one step in its list of values */ };

/* One condition of `likely` in the kernel file: its author expects the fastest to meet it. */
typedef struct hone_expectation {
  const char *text, *comment; /* "c.stages == 0 || p.cols >= 8192"; its reason, may be empty */
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
   * different label counts 1. In very large spaces a near one, not always the nearest. */
  hone_position (*nearest)(const void* self, const uint16_t* digits);
  /* Up to `count` distinct positions, uniform without replacement, determined by `seed`. Returns their number. */
  size_t (*sample)(const void* self, uint64_t seed, size_t count, hone_position* positions);
  /* All valid neighbours in order of position. Writes at most `capacity` and returns their total number. */
  size_t (*neighbours)(const void* self, hone_position position, int32_t kind, size_t capacity, hone_position* positions);
  /* ---- Since version 3 ---- */
  size_t dimension_stride;
  /* What the kernel's author expects. A position that breaks an expectation is as valid as any other, and may win. The count is 0 if
   * the author declared none, if the user ignores them, or if all positions of this space meet them. */
  uint32_t expectation_count;
  const hone_expectation* expectations;
  size_t expectation_stride;
  /* The number of positions that meet all expectations: `size` if there are none; never 0. An upper bound if `size` is one. */
  hone_position likely_size;
  /* Whether a position meets all of them: 1 or 0; 0 for a position not below `size`. */
  int32_t (*is_likely)(const void* self, hone_position position);
  /* Like `sample`, from the positions that meet all of them. */
  size_t (*sample_likely)(const void* self, uint64_t seed, size_t count, hone_position* positions);
  /* The expectations that a position breaks, as ascending indices into `expectations`. Writes at most `capacity` and returns their total
   * number. */
  size_t (*broken)(const void* self, hone_position position, size_t capacity, uint32_t* places);
} hone_space;

/* ---- Outcomes ---- */

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
  /* Since version 3: dropped after one cold run far behind the fastest. It was not validated and cannot win; its time is
   * approximate, but useful information about the space. */
  HONE_TOO_SLOW = 10
};

typedef struct hone_observation {
  hone_position position;
  int32_t outcome;
  double time_us;         /* median; meaningful only for HONE_OK and HONE_TOO_SLOW */
  double cost_seconds;    /* cost of the trial: compile, validate, time */
  double compile_seconds; /* of these, compiling */
  /* From the compiler; 0 if the trial ended before, or the device does not know. */
  int64_t registers, spill_bytes, shared_bytes;
  double occupancy; /* resident threads / maximum */
} hone_observation;

/* The store's data on a kernel of this name from other sessions: of other shapes, dtypes or devices, and earlier ones of this
 * problem. The kernel's source may have changed since. Only configurations that are valid here are listed, with their positions here; times
 * are those measured there. */
typedef struct hone_prior {
  const char *device, *dtype, *shape;
  const hone_observation* observations;
  size_t observation_count;
} hone_prior;

/* ---- Strategies ---- */

enum { HONE_REAL = 0, HONE_INTEGER = 1, HONE_FLAG = 2 };

/* A declared parameter of a strategy: help, validation and JSON are generated from it. */
typedef struct hone_parameter {
  const char *name, *help;
  int32_t type;
  double default_value, minimum, maximum;
} hone_parameter;

/* The input of an instance. Valid, with everything it points to, until the instance is destroyed. */
typedef struct hone_strategy_context {
  size_t struct_size;
  const hone_space* space;
  uint64_t seed;              /* the same seed and the same outcomes give the same proposals */
  const hone_position* first; /* the kernel's default, which is always tried before the strategy is asked; null if there is none */
  const double* parameters;   /* one for each declared parameter, in their order, checked */
  uint64_t expected_trials;   /* length of the session; 0 if unknown */
  const hone_prior* priors;
  size_t prior_count;
  const void* model; /* what `save` wrote in the latest earlier session of this kernel and strategy; null if none */
  size_t model_bytes;
  /* ---- Since version 3 ---- */
  size_t prior_stride;
  size_t observation_stride; /* of the observations of priors and of `tell` */
} hone_strategy_context;

typedef struct hone_strategy {
  size_t struct_size;
  const char* name;    /* what users type: lower case, digits and underscores */
  const char* summary; /* one line */
  const char* source;  /* paper or URL of the algorithm; may be empty */
  const hone_parameter* parameters;
  size_t parameter_count;
  int32_t (*create)(const hone_strategy_context* context, void** instance, hone_message* message);
  /* Writes up to `wanted` positions and their number: fewer, or none, if it waits for outcomes. Hone drops invalid positions. A position
   * that was proposed before costs nothing: its observation is told again. */
  int32_t (*ask)(void* instance, size_t wanted, hone_position* positions, size_t* count, hone_message* message);
  /* Outcomes in the order of completion, including trials it did not propose (the default, an earlier part of a resumed session). */
  int32_t (*tell)(void* instance, const hone_observation* observations, size_t count, hone_message* message);
  /* Called once at the end of a session: passes a model for later sessions to `write`, at most 1 MiB. May be null. */
  int32_t (*save)(void* instance, void* sink, void (*write)(void* sink, const void* bytes, size_t count), hone_message* message);
  void (*destroy)(void* instance);
  /* ---- Since version 3 ---- */
  size_t parameter_stride;
  /* Not 0: the strategy weighs expectations itself and sees all valid configurations from the beginning. 0: a session gives it
   * the likely ones as its space, and after their share of the budget gives all of them to another instance. */
  int64_t weighs_expectations;
} hone_strategy;

/* ---- Devices ---- */

/* A nonzero result of a device function. After HONE_LOST the process is replaced and the device opened again; any other value means that
 * this call failed and the device still works. */
enum { HONE_LOST = 2 };

/* Those up to HONE_I32 are in every version; a device that does not know a later one returns an error. HONE_BOOL is a byte, 0 or 1;
 * HONE_E4M3 and HONE_E5M2 are 8-bit floats; HONE_I4X2 and HONE_U4X2 are treated as whole bytes. */
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
  const char* id;           /* what users type: the table's name, optionally with a colon and a number ("mine:0") */
  const char* product;      /* part of a record's key */
  const char* uuid;         /* of the physical device; may be empty */
  const char* architecture; /* identifies compiled code, with `compiler` of the environment */
  /* d.* of kernel files. Each of: compute_capability, l2_bytes, memory, multiprocessors, registers_per_multiprocessor,
   * shared_memory_per_block, shared_memory_per_multiprocessor, threads_per_block, threads_per_multiprocessor, warp_size. Sizes in bytes. */
  const hone_property* properties;
  size_t property_count;
  /* If one of these changes, records are stale ("driver", "compiler"). "compiler" defaults to the plugin's name and version. */
  const hone_text* environment;
  size_t environment_count;
  int32_t compile_overlaps; /* whether compiling on the host's cores leaves timing on this device undisturbed */
  /* ---- Since version 3 ---- */
  size_t property_stride, environment_stride;
} hone_device_info;

/* Maximum over the passes; 0 if unknown. */
typedef struct hone_resources {
  int64_t registers, spill_bytes, stack_bytes; /* per thread */
  int64_t shared_bytes;                        /* per block */
  double occupancy;                            /* resident threads / maximum */
} hone_resources;

/* A function of the kernel file, instantiated. */
typedef struct hone_function {
  const char* expression;   /* "softmax<f32, Config{256, 4, true}>" */
  const int32_t* arguments; /* for each parameter its index among the kernel's arguments, or one of HONE_PROBLEM... below. */
  size_t argument_count;    /* A reference's parameters come after the index, a long */
} hone_function;

/* Parameters that are none of the kernel's arguments: the Problem, by value; the pass's next tensor map, by value; the number of the run of
 * a pass that repeats, an int. */
enum { HONE_PROBLEM = -1, HONE_TENSOR_MAP = -2, HONE_RUN_INDEX = -3 };

/* What one artifact is compiled from: a configuration, or the reference, which has passes too. */
typedef struct hone_unit {
  const char* configuration;      /* "block=256,vec=4,online=true"; null for the reference */
  const hone_function* functions; /* the __global__ function of each pass; for the reference, the function called for each index */
  size_t function_count;
  const char* const* options; /* the compiler options that the configuration sets */
  size_t option_count;
} hone_unit;

typedef struct hone_compile_request {
  size_t struct_size;
  const char *kernel, *file, *source; /* name, path for messages, text */
  const hone_text* headers;           /* what it may include: Hone's own ("hone/kernel.h", ...) and the file's, as it names them */
  size_t header_count;
  int32_t dtype;                     /* of the first type parameter; the function expressions name all of them */
  const char* const* problem_fields; /* of struct Problem, each a long; without STATIC ones, whose values are in the source */
  size_t problem_field_count;
  const hone_unit* units;
  size_t unit_count;
  /* ---- Since version 3 ---- */
  size_t header_stride, unit_stride, function_stride;
} hone_compile_request;

typedef struct hone_compiled {
  const void* bytes; /* in any format that `load` reads; units compiled together may return the same bytes, stored once */
  size_t byte_count;
  const char* const* symbols; /* one for each function of the unit */
  hone_resources resources;
} hone_compiled;

/* Receives a compiler's results, which are copied. Each unit is reported once; a missing one fails with the message of the call. */
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
  int64_t extent; /* of a reference: called for indices 0 to extent - 1, in a geometry that the device chooses; of a kernel: 0 */
} hone_pass;

/* Every launch copies these bytes from the address of an argument to a variable of the source, on its stream, before the first pass. */
typedef struct hone_constant {
  const char* symbol;
  int32_t argument; /* its index among the kernel's arguments */
  size_t bytes;
} hone_constant;

/* An array in device memory as a tensor memory accelerator sees it (TENSOR_MAP of kernel files), axis by axis from the innermost. It begins
 * offset_bytes behind the address that a launch gives for the argument: a map is encoded at the launch, or when the address changes. */
#define HONE_TENSOR_AXES 5
typedef struct hone_tensor_map {
  int32_t argument; /* its index among the kernel's arguments */
  int32_t dtype;
  size_t axis_count; /* 0: this configuration does not use the map */
  int64_t size[HONE_TENSOR_AXES], box[HONE_TENSOR_AXES];
  int64_t stride_bytes[HONE_TENSOR_AXES];
  int64_t swizzle_bytes, l2_bytes, offset_bytes;
} hone_tensor_map;

/* What only some devices are given of a pass: see encodes_tensor_maps, repeats_passes and launch_passes of the table. */
typedef struct hone_pass_details {
  int32_t overlap;                    /* it may begin while what was launched before it still runs (a programmatic dependent launch) */
  int32_t run_index;                  /* the value of HONE_RUN_INDEX */
  const hone_tensor_map* tensor_maps; /* one for each HONE_TENSOR_MAP among the pass's arguments, in order */
  size_t tensor_map_count;
} hone_pass_details;

typedef struct hone_load_request {
  size_t struct_size;
  const void* bytes; /* an artifact */
  size_t byte_count;
  const char* digest;      /* equal for equal bytes: configurations that share an artifact may share the loaded code */
  const hone_pass* passes; /* run in this order, each on the results of the previous one */
  size_t pass_count;
  const int64_t* problem; /* the values of problem_fields */
  size_t problem_count;
  /* ---- Since version 3 ---- */
  size_t pass_stride;
  const hone_constant* constants; /* none unless the table says copies_constants */
  size_t constant_count, constant_stride;
  const hone_pass_details* details; /* one for each pass */
  size_t detail_stride, tensor_map_stride;
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

/* Run before each sample, outside the timed region: `bytes` of `source` are copied to `destination`; with source null they become 0. */
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
  int32_t flush_cache; /* no buffer is in a cache when a sample begins */
  /* ---- Since version 3 ---- */
  size_t preparation_stride;
} hone_time_request;

/* What an energy counter says. */
typedef struct hone_energy {
  double joules;            /* since some moment that stays the same while the device is open */
  double seconds;           /* when it was read, by a clock that starts at any moment */
  double resolution_joules; /* the step in which the counter counts */
} hone_energy;

/* A piece of device memory. */
typedef struct hone_region {
  void* address;
  size_t bytes;
} hone_region;

/* 0 if unknown. */
typedef struct hone_readings {
  double sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  uint64_t throttle_reasons; /* NVML's bits */
} hone_readings;

/* A family of devices. `enumerate`, `compiler_version` and all of the compiler must work without opening a device: they run in other
 * processes. A handle is any pointer except null. Device memory is identified by addresses that support arithmetic, on the device or the
 * host. A function marked "null or ..." is optional. Unless it says otherwise, a function returns when its work is done. */
typedef struct hone_device {
  size_t struct_size;
  const char* name; /* what users type: lower case, digits and underscores */
  /* Passes each device of this machine to `add`, which copies it. Fails if there is none; says what is missing and what to do. */
  int32_t (*enumerate)(void* sink, void (*add)(void* sink, const hone_device_info* info), hone_message* message);

  /* Writes the compiler's name and version; fails with the reason if there is none. */
  int32_t (*compiler_version)(hone_message* message);
  int32_t (*create_compiler)(const hone_device_info* info, void** compiler, hone_message* message);
  int32_t (*compile)(void* compiler, const hone_compile_request* request, const hone_compile_sink* sink, hone_message* message);
  void (*destroy_compiler)(void* compiler);

  /* The device is closed after everything created from it was released. */
  int32_t (*open)(const hone_device_info* info, void** device, hone_message* message);
  void (*close)(void* device);
  int32_t (*allocate)(void* device, size_t bytes, void** address, hone_message* message);
  void (*release)(void* device, void* address);
  int32_t (*upload)(void* device, void* destination, const void* host, size_t bytes, hone_message* message);
  int32_t (*download)(void* device, void* host, const void* source, size_t bytes, hone_message* message);

  int32_t (*load)(void* device, const hone_load_request* request, void** kernel, hone_message* message);
  void (*unload)(void* device, void* kernel);
  /* Runs or enqueues the passes in order, on the caller's stream or, with null, the device's own. For each argument of the kernel,
   * `arguments` holds the address of its value: of a device address, or of a scalar. May be called from any thread. */
  int32_t (*launch)(void* kernel, void* stream, void* const* arguments, hone_message* message);

  /* Null, or waits until all launches have completed; reports failures since the last call. */
  int32_t (*synchronize)(void* device, hone_message* message);
  /* Null, or the driver's resources of a loaded kernel; the default is the compiler's. */
  int32_t (*resources)(void* kernel, hone_resources* resources, hone_message* message);

  /* Null, or the device's implementation; the default goes through upload and download, which is slow for large buffers. */
  int32_t (*copy)(void* device, void* destination, const void* source, size_t bytes, hone_message* message);
  /* Enqueued on `stream`, if it is not null; otherwise complete on return. */
  int32_t (*fill)(void* device, void* stream, void* destination, size_t bytes, uint8_t pattern, hone_message* message);
  /* Element i becomes random_element(seed, i) of hone/random.h; for signed integers random_integer(seed, i); for unsigned ones,
   * HONE_I4X2 and HONE_U4X2 random_unsigned(seed, i); for HONE_BOOL random_boolean(seed, i). The same on every device. */
  int32_t (*randomize)(void* device, void* destination, int32_t dtype, size_t count, uint64_t seed, hone_message* message);
  /* `expected` is in device memory. A NaN never passes; an infinity equals only itself. */
  int32_t (*compare)(void* device, const void* actual, int32_t dtype, const double* expected, size_t count, const hone_tolerance* tolerance,
                     hone_comparison* comparison, hone_message* message);
  /* Any digest of the bytes. */
  int32_t (*checksum)(void* device, const void* source, size_t bytes, uint64_t* checksum, hone_message* message);
  /* Microseconds of each sample. The default reads the host's clock around launch and synchronize. */
  int32_t (*time)(void* device, const hone_time_request* request, double* microseconds, hone_message* message);
  /* Null, or the device's state. */
  int32_t (*readings)(void* device, hone_readings* readings, hone_message* message);
  /* ---- Since version 3 ---- */
  size_t compiled_size; /* sizeof(hone_compiled) in this plugin; 0: that of ABI 2 */
  /* Not 0: `load` reads the request's constants. 0: kernels with CONSTANT arguments are refused. */
  int64_t copies_constants;
  /* Not 0: `load` reads the details' tensor maps. 0: kernels with tensor maps are refused. */
  int64_t encodes_tensor_maps;
  /* Not 0: `load` reads the details' run_index, and each pass's own arguments. 0: kernels with RUN_INDEX or .then are refused. */
  int64_t repeats_passes;

  /* Null, or all three: calls of one kernel, one behind the other, that the device makes without the host. `arguments` has the arguments of
   * each call, as `launch` takes them; create_graph reads the values. The kernel and the memory outlive the graph. Short kernels are timed
   * by it; on a device without graphs, or where create_graph fails, they are timed call by call. */
  int32_t (*create_graph)(void* device, void* kernel, void* const* const* arguments, size_t calls, void** graph, hone_message* message);
  /* Runs the graph once, with no buffer in a cache when it begins, and writes the microseconds of one call: the mean over its calls. */
  int32_t (*time_graph)(void* graph, double* microseconds, hone_message* message);
  void (*destroy_graph)(void* graph);

  /* Null, or both: passes may overlap with what was launched before them. Without, `overlap` is 0 everywhere. (Passes overlap only on
   * devices whose compute_capability is 90 or more.) Enqueues `count` passes from `first` on, as `launch` does with all. */
  int32_t (*launch_passes)(void* kernel, void* stream, void* const* arguments, size_t first, size_t count, hone_message* message);
  /* Enqueues on the stream of `launch` with null what inverts all bits of the regions, 32 at most. With `late` it lets what is launched
   * next begin first, and takes its time: a kernel that reads or writes a region before it should is found by this. */
  int32_t (*invert)(void* device, const hone_region* regions, size_t region_count, size_t region_stride, int32_t late,
                    hone_message* message);
  /* Null, or fills the memory that blocks share, so that the next launch finds nothing there that it could take for its own. */
  int32_t (*paint_shared)(void* device, uint8_t pattern, hone_message* message);
  /* Null, or reads the device's energy counter, which may be brought up to date seldom: Hone waits for its steps. Without, kernels cannot
   * be tuned for energy on this device. */
  int32_t (*energy)(void* device, hone_energy* energy, hone_message* message);
} hone_device;

/* ---- The plugin ---- */

typedef struct hone_plugin {
  uint32_t abi; /* HONE_PLUGIN_ABI; always the first field */
  size_t struct_size;
  const char *name, *version;
  const hone_strategy* const* strategies;
  size_t strategy_count;
  /* Missing in plugins built before devices were introduced. */
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
