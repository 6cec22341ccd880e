/* The C interface of Hone: engines, lookups, launches, tuning, records (docs/c.md).
 *
 *   hone_engine_options options = {.size = sizeof options, .store = "S.db"};
 *   hone_engine* engine = NULL;
 *   hone_error* error = NULL;
 *   if (hone_engine_open(&options, &engine, &error) != HONE_SUCCESS) {
 *     fprintf(stderr, "%s\n", hone_error_message(error));
 *     hone_error_free(error);
 *   }
 *
 * Errors. A function that can fail returns a hone_status (HONE_SUCCESS, or the kind of failure) and takes `error` as its last argument.
 * If `error` is not NULL, it becomes NULL on success, and on failure an error with a message, which the caller frees. The results of a
 * failed call are NULL or unchanged. A call that breaks a rule of this header (a NULL that is not allowed, a struct of an unknown size)
 * returns HONE_ERROR_CONTRACT. No C++ exception leaves a function, and nothing is printed.
 *
 * Structs begin with their `size`. The caller sets it to sizeof, both in structs that it passes and in structs to be filled. New fields are
 * only appended, so programs and libraries of different versions understand each other: missing fields count as 0, which is their default;
 * fields that the library does not know must be 0 if passed, and are set to 0 if filled. The elements of arrays, hone_extent and
 * hone_argument, have no size and never change. Enumerations are 32-bit integers, and their values are never renumbered.
 *
 * Texts are UTF-8 and end with a zero. A text that is passed is copied if it is needed later; NULL and "" mean the same. A returned text
 * belongs to the object that it was read from and lives as long as that; functions that differ say so.
 *
 * Threads. An engine and its handles may be used from several threads at once, except memory (hone_buffer) and where a function says
 * otherwise. A handle is freed once, when no thread uses it any more; freeing NULL does nothing.
 *
 * Processes. In a child of fork(), every call on an engine of the parent returns HONE_ERROR_UNAVAILABLE; handles may be freed there. Open a
 * new engine after the fork.
 *
 * Libraries. libhone has all functions. libhone-runtime, for NVIDIA GPUs, has those without "libhone" in their comment. */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <stddef.h>
#include <stdint.h>

#include "hone/export.h"
#include "hone/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef int32_t hone_status;
enum {
  HONE_SUCCESS = 0,
  HONE_ERROR_INVALID_ARGUMENT = 1, /* something impossible was asked for: a shape of zero, a wrong type, an unknown name */
  HONE_ERROR_NOT_FOUND = 2,        /* a named thing does not exist: a kernel, a device, a file, a record */
  HONE_ERROR_BAD_KERNEL = 3,       /* a kernel file cannot be read; the message has clang's file:line:column */
  HONE_ERROR_EMPTY_SPACE = 4,      /* no configuration meets the constraints */
  HONE_ERROR_IO = 5,               /* a file or socket could not be read or written */
  HONE_ERROR_STORE = 6,            /* the store is foreign, newer, corrupt or read-only */
  HONE_ERROR_UNAVAILABLE = 7,      /* a part of the machine is missing (a GPU, NVRTC, libclang), or this process is a fork */
  HONE_ERROR_COMPILE = 8,          /* a configuration does not compile; the message has the compiler's log */
  HONE_ERROR_LAUNCH = 9,           /* a kernel could not be launched */
  HONE_ERROR_DEVICE = 10,          /* the device failed while it ran */
  HONE_ERROR_TIMEOUT = 11,         /* a deadline passed */
  HONE_ERROR_PLUGIN = 12,          /* a plugin broke its contract */
  HONE_ERROR_CANCELLED = 13,       /* the caller asked to stop */
  HONE_ERROR_CONTRACT = 14,        /* the call breaks a rule of this header */
  HONE_ERROR_OUT_OF_MEMORY = 15,   /* the process has no memory left */
  HONE_ERROR_INTERNAL = 16         /* a defect of Hone; please report the message */
};

typedef struct hone_error hone_error;

/* What failed, where, and what to do, for people; "" for NULL. */
HONE_API const char* hone_error_message(const hone_error* error);
/* HONE_SUCCESS for NULL. */
HONE_API hone_status hone_error_status(const hone_error* error);
HONE_API void hone_error_free(hone_error* error);
/* "invalid argument", "not found", ...; "unknown" for other numbers. Lives as long as the library. */
HONE_API const char* hone_status_name(hone_status status);

/* The version of the library, "0.2.0": that of the headers is HONE_VERSION. Lives as long as the library. */
HONE_API const char* hone_version(void);

/* ---- Element types ---- */

typedef int32_t hone_type;
enum {
  HONE_TYPE_ANY = 0, /* of an argument: not stated, and not checked */
  HONE_TYPE_F32 = 1,
  HONE_TYPE_F16 = 2,
  HONE_TYPE_BF16 = 3,
  HONE_TYPE_F64 = 4,
  HONE_TYPE_I32 = 5,
  HONE_TYPE_I8 = 6,
  HONE_TYPE_U8 = 7,
  HONE_TYPE_I16 = 8,
  HONE_TYPE_U16 = 9,
  HONE_TYPE_U32 = 10,
  HONE_TYPE_I64 = 11,
  HONE_TYPE_U64 = 12,
  HONE_TYPE_BOOL = 13,
  HONE_TYPE_E4M3 = 14, /* 8-bit floats */
  HONE_TYPE_E5M2 = 15,
  HONE_TYPE_I4X2 = 16, /* two 4-bit integers in a byte, the lower bits first */
  HONE_TYPE_U4X2 = 17
};

/* "f32", "bf16", ...; "" for other numbers. Lives as long as the library. */
HONE_API const char* hone_type_name(hone_type type);
/* Bytes of one element; 0 for other numbers. */
HONE_API size_t hone_type_size(hone_type type);

/* ---- Lists of texts ---- */

typedef struct hone_texts hone_texts;
HONE_API size_t hone_texts_count(const hone_texts* texts);
/* NULL behind the last one. */
HONE_API const char* hone_texts_get(const hone_texts* texts, size_t index);
HONE_API void hone_texts_free(hone_texts* texts);

/* ---- Engines ---- */

typedef struct hone_engine hone_engine;

/* Tunes problems that were asked for and have no record: one at a time, in worker processes on the engine's device. Meanwhile the nearest
 * record or the default runs. */
typedef struct hone_background_tuning {
  size_t size;
  double seconds;          /* for each problem; 0: no limit. Neither this nor trials: 30 */
  int64_t trials;          /* for each problem; 0: no limit */
  int64_t compile_workers; /* processes; 0: one, negative: one for each core */
  const char* device;      /* to tune on, of the same product as the engine's; NULL: that */
} hone_background_tuning;

enum {
  HONE_CHECK_AGREES = 0,
  HONE_CHECK_NOT_FINITE = 1, /* it agrees, but there are NaNs or infinities in outputs, and none in inputs */
  HONE_CHECK_DIFFERS = 2     /* by more than two correct results may; from now on the engine serves the default */
};

/* What a sampled check of a launch found. Its texts live until the callback returns. */
typedef struct hone_launch_check {
  size_t size;
  const char* kernel; /* of an operation, the one that was launched */
  const char* dtypes;
  const char* shape; /* "m=64,n=64" */
  const char* configuration;
  const char* text;     /* all of this as a sentence */
  const char* argument; /* the first output that differs, or "" */
  int32_t finding;      /* HONE_CHECK_... */
  int32_t reserved;
  double worst;         /* the largest difference, as a multiple of what is allowed */
  uint64_t not_finite;  /* NaNs and infinities in outputs */
  uint64_t elements;    /* elements of that argument */
  uint64_t wrong;       /* wrong ones among them */
  uint64_t first_wrong; /* the index of the first wrong one */
  double actual;        /* its value */
  double of_default;    /* its value with the default configuration */
} hone_launch_check;

/* Called in a thread of the engine. It must not close the engine. */
typedef void (*hone_check_callback)(void* data, const hone_launch_check* check);

typedef struct hone_engine_options {
  size_t size;
  const char* store;                /* NULL: $HONE_STORE, or hone/store.db of the data directory */
  const char* device;               /* "cuda:0", "cpu"; NULL: the best present */
  int32_t trust_store;              /* launch the code in the store whoever made it: for a store that comes with the application */
  int32_t approved_only;            /* use only records that were approved or pinned */
  double max_error;                 /* use winners tuned under this accuracy bound; 0: none */
  const char* given;                /* use winners tuned on given arrays: the digest that `hone tune --input` prints */
  const int64_t* generation;        /* use the records that this generation of the store served; NULL: the newest */
  const char* const* force_default; /* kernels and operations that run their default; "all" means every one */
  size_t force_default_count;
  const hone_background_tuning* background_tuning; /* NULL: none. Needs hone-worker and a store that can be written */
  size_t most_problems;                            /* kept loaded; 0: 4096 */
  int64_t graph_workspaces;                        /* spare workspaces for captured launches; 0: 4, negative: none */
  size_t check_one_in;                             /* checks one of so many launches of each problem (docs/checking.md); 0: never */
  hone_check_callback on_check;                    /* called after every check; may be NULL */
  void* on_check_data;
  const char* record_workload; /* a file to which the launches of each problem are added (docs/workloads.md); NULL: none */
  const char* objective;       /* use winners tuned for it, and tune for it: "time" (as NULL), "p99", "energy", "edp" */
} hone_engine_options;

/* `options` may be NULL. A missing store is not an error: every kernel then runs its default. Errors: an unknown or missing device; with
 * background tuning, a store that cannot be written; a generation that the store does not have. */
HONE_API hone_status hone_engine_open(const hone_engine_options* options, hone_engine** engine, hone_error** error);
/* Kernels and bound kernels of the engine may outlive it; buffers may not. Background tuning ends with it. */
HONE_API void hone_engine_close(hone_engine* engine);

/* Adds a kernel file under its name, which is the file's, and as an implementation of the operation that it names. `flags`: compiler
 * options, "-Iinclude", "-DNAME=1". Needs libclang, and libhone. */
HONE_API hone_status hone_engine_add_kernel_file(hone_engine* engine, const char* file, const char* const* flags, size_t flag_count,
                                                 hone_error** error);
/* The same from a kernel file's text. `name` is the file's name: "scale.cu" for the kernel `scale`. Its own headers are found only through
 * -I. libhone. */
HONE_API hone_status hone_engine_add_kernel_source(hone_engine* engine, const char* name, const char* text, const char* const* flags,
                                                   size_t flag_count, hone_error** error);
/* The same from the output of `hone kernels FILE --spec`; needs no libclang. */
HONE_API hone_status hone_engine_add_kernel_spec(hone_engine* engine, const char* json, hone_error** error);

/* Texts live as long as the engine. */
typedef struct hone_engine_device_info {
  size_t size;
  const char* id;           /* "cuda:0", "cpu" */
  const char* plugin;       /* "cuda", "cpu" */
  const char* product;      /* "NVIDIA H200" */
  const char* uuid;         /* "" if it has none */
  const char* architecture; /* "sm_90a" */
} hone_engine_device_info;
HONE_API hone_status hone_engine_device(const hone_engine* engine, hone_engine_device_info* info, hone_error** error);
/* A number of the device: "multiprocessors", "memory", "warp_size", ... (d.* of kernel files). */
HONE_API hone_status hone_engine_device_property(const hone_engine* engine, const char* name, int64_t* value, hone_error** error);

/* The generation whose records are looked up: that of the options, else the newest of the store; 0 without a store. */
HONE_API hone_status hone_engine_generation(const hone_engine* engine, int64_t* generation, hone_error** error);
/* Problems that did not prevent lookups, each once: a store that cannot be read, a winner that cannot be loaded. Free the list. */
HONE_API hone_status hone_engine_warnings(const hone_engine* engine, hone_texts** warnings, hone_error** error);
/* Adds the launches since the last call to the file hone_engine_options.record_workload; closing the engine does so, too. */
HONE_API hone_status hone_engine_write_workload(hone_engine* engine, hone_error** error);
/* Allocates spare workspaces for `count` captured launches. Not under capture. */
HONE_API hone_status hone_engine_reserve_graph_workspaces(hone_engine* engine, size_t count, hone_error** error);

typedef struct hone_background_report {
  size_t size;
  uint64_t waiting; /* problems still to be tuned, including the current one */
  uint64_t tuned;   /* problems that have a record now */
} hone_background_report;
/* The results of background tuning so far. `failures` says why problems could not be tuned; it may be NULL. Free the list. */
HONE_API hone_status hone_engine_background_report(const hone_engine* engine, hone_background_report* report, hone_texts** failures,
                                                   hone_error** error);

/* ---- Memory of the device: for programs without CUDA code of their own. One thread at a time. ---- */

typedef struct hone_buffer hone_buffer;
HONE_API hone_status hone_buffer_allocate(hone_engine* engine, size_t bytes, hone_buffer** buffer, hone_error** error);
/* Before the engine is closed. */
HONE_API void hone_buffer_free(hone_buffer* buffer);
HONE_API void* hone_buffer_address(const hone_buffer* buffer);
HONE_API size_t hone_buffer_bytes(const hone_buffer* buffer);

HONE_API hone_status hone_upload(hone_engine* engine, void* to_device, const void* from_host, size_t bytes, hone_error** error);
HONE_API hone_status hone_download(hone_engine* engine, void* to_host, const void* from_device, size_t bytes, hone_error** error);
HONE_API hone_status hone_copy(hone_engine* engine, void* to_device, const void* from_device, size_t bytes, hone_error** error);
HONE_API hone_status hone_fill(hone_engine* engine, void* device, uint8_t pattern, size_t bytes, hone_error** error);
/* Waits for all enqueued work. */
HONE_API hone_status hone_synchronize(hone_engine* engine, hone_error** error);

/* ---- Lookups ---- */

/* An extent of a problem, by the name of its field. */
typedef struct hone_extent {
  const char* name;
  int64_t value;
} hone_extent;

/* A kernel ready to launch for one problem. */
typedef struct hone_kernel hone_kernel;

/* Looks up, loads and prepares a kernel, or the one of an operation's kernels that serves the problem. `dtypes`: "bf16", or
 * "In=e4m3,Out=bf16" of a kernel with several type parameters; NULL: the kernel's only one. Extents that are not given are the kernel's
 * defaults. The first call for a problem loads code and may compile; later ones take about a microsecond: hone_bind where that counts.
 * Errors: an unknown kernel, dtype or extent; no valid configuration; code that is in no store and no compiler to make it. */
HONE_API hone_status hone_kernel_find(hone_engine* engine, const char* kernel, const char* dtypes, const hone_extent* extents,
                                      size_t extent_count, hone_kernel** found, hone_error** error);
/* Another handle of the same kernel, for example to keep the result of a bound lookup. */
HONE_API hone_status hone_kernel_copy(const hone_kernel* kernel, hone_kernel** copy, hone_error** error);
/* Not for the results of hone_bound_find and hone_bound_find_at_once. */
HONE_API void hone_kernel_free(hone_kernel* kernel);

/* An operation or kernel without its extents: the lookup for loops. */
typedef struct hone_bound hone_bound;

/* Fixes everything except the extents named in `names`, at most 16, which lookups pass in this order. The others are those of `fixed`, or
 * the kernel's defaults. */
HONE_API hone_status hone_bind(hone_engine* engine, const char* kernel, const char* dtypes, const char* const* names, size_t name_count,
                               const hone_extent* fixed, size_t fixed_count, hone_bound** bound, hone_error** error);
HONE_API void hone_bound_free(hone_bound* bound);
/* hone_kernel_find for these extents. For extents that the thread has looked up before, it takes tens of nanoseconds, no lock and no
 * allocation. The result is valid in this thread until its next lookup with `bound`, or until `bound` is freed; do not free it. */
HONE_API hone_status hone_bound_find(const hone_bound* bound, const int64_t* extents, size_t count, const hone_kernel** found,
                                     hone_error** error);
/* The same, without waiting for code to be read, compiled or loaded: a thread of the engine loads what is missing. Until then, the loaded
 * code of the nearest problem that is legal here serves, or the default's. HONE_ERROR_UNAVAILABLE if none is loaded yet. */
HONE_API hone_status hone_bound_find_at_once(const hone_bound* bound, const int64_t* extents, size_t count, const hone_kernel** found,
                                             hone_error** error);

/* ---- Launches ---- */

/* An argument, in the order of the kernel file, without workspaces and Problem. */
typedef struct hone_argument {
  const void* data; /* array: the address of its device memory, aligned to 16 bytes; scalar: the address of its value */
  size_t bytes;     /* array: its size, which is checked, or 0: not stated; scalar: the size of its value */
  hone_type type;   /* of the elements or the value, which is checked; HONE_TYPE_ANY: not stated */
  int32_t reserved;
} hone_argument;

/* Enqueues the kernel on `stream` (a CUstream or cudaStream_t; the cpu device ignores it and runs the kernel before it returns). Allocates
 * nothing and takes no lock, except for a kernel with workspaces at its first launch on a stream and in a capture. A rejected call launches
 * nothing. Errors: HONE_ERROR_INVALID_ARGUMENT (number, type, size or alignment of arguments, memory that is too short, NULL where the
 * kernel has elements), HONE_ERROR_LAUNCH, HONE_ERROR_UNAVAILABLE (a fork; no memory for a workspace). */
HONE_API hone_status hone_launch(const hone_kernel* kernel, void* stream, const hone_argument* arguments, size_t count, hone_error** error);

/* ---- What a lookup found ---- */

/* Where a configuration comes from. */
enum {
  HONE_SOURCE_EXACT = 0,     /* a record of this problem */
  HONE_SOURCE_PREDICTED = 1, /* the member of a portfolio that its rule expects to be fastest here */
  HONE_SOURCE_NEAREST = 2,   /* the record of the nearest tuned shape whose configuration is valid here */
  HONE_SOURCE_DEFAULT = 3    /* no record fits */
};
/* "exact", "predicted", "nearest", "default"; "" of anything else. Lives as long as the library. */
HONE_API const char* hone_source_name(int32_t source);

/* Texts of these live as long as a handle of the kernel. */
typedef struct hone_kernel_info {
  size_t size;
  const char* kernel;             /* its name: of an operation, that of the one that was chosen */
  const char* dtypes;             /* "bf16" */
  const char* configuration;      /* "block=256,vec=4" */
  const char* why;                /* why existing records were skipped, or "" */
  int32_t source;                 /* HONE_SOURCE_... */
  int32_t superseded;             /* as hone_kernel_superseded */
  size_t setting_count;           /* for hone_kernel_setting, */
  size_t extent_count;            /* hone_kernel_extent, */
  size_t tuned_extent_count;      /* hone_kernel_tuned_extent, */
  size_t stale_count;             /* hone_kernel_stale, */
  size_t argument_count;          /* hone_kernel_argument */
  double slowdown;                /* HONE_SOURCE_PREDICTED: expected time divided by what a search of this shape would reach; else 0 */
  double doubt;                   /* its standard deviation, as a share of it */
  int64_t portfolio;              /* the portfolio's generation, in its store */
  int32_t portfolio_shipped;      /* it came with Hone */
  int32_t wants_tuning;           /* the shape is worth a search of its own */
  const char* portfolio_product;  /* the device on which the portfolio was made: another one where there is none for this; else "" */
  const char* portfolio_made_for; /* "bf16, head=128": in what the problems differ that it was made for, or "rows=1..4096"; else "" */
} hone_kernel_info;
HONE_API hone_status hone_kernel_describe(const hone_kernel* kernel, hone_kernel_info* info, hone_error** error);
/* Whether the problem was tuned since, or a check found this configuration wrong: a new lookup finds another one. One atomic load; 0 for
 * NULL. */
HONE_API int32_t hone_kernel_superseded(const hone_kernel* kernel);

enum { HONE_VALUE_INTEGER = 0, HONE_VALUE_BOOLEAN = 1, HONE_VALUE_REAL = 2 };

/* A tunable parameter and its value in the configuration. */
typedef struct hone_setting {
  size_t size;
  const char* name;
  int32_t kind; /* HONE_VALUE_... */
  int32_t reserved;
  int64_t integer; /* the value, as an integer; of an enumeration, that of the enumerator */
  double real;     /* the same as a number */
} hone_setting;
HONE_API hone_status hone_kernel_setting(const hone_kernel* kernel, size_t index, hone_setting* setting, hone_error** error);
HONE_API hone_status hone_kernel_setting_named(const hone_kernel* kernel, const char* name, hone_setting* setting, hone_error** error);

/* An extent of the problem that was looked up. */
HONE_API hone_status hone_kernel_extent(const hone_kernel* kernel, size_t index, hone_extent* extent, hone_error** error);
/* An extent of the tuned shape: another shape for HONE_SOURCE_NEAREST, none for HONE_SOURCE_PREDICTED and HONE_SOURCE_DEFAULT. */
HONE_API hone_status hone_kernel_tuned_extent(const hone_kernel* kernel, size_t index, hone_extent* extent, hone_error** error);

/* A change since the record was tuned; it is used nevertheless. */
typedef struct hone_staleness {
  size_t size;
  const char* what; /* "driver" */
  const char* then;
  const char* now;
} hone_staleness;
HONE_API hone_status hone_kernel_stale(const hone_kernel* kernel, size_t index, hone_staleness* staleness, hone_error** error);

enum { HONE_ROLE_IN = 0, HONE_ROLE_OUT = 1, HONE_ROLE_INOUT = 2, HONE_ROLE_SCALAR = 3 };

/* An argument as hone_launch takes it. */
typedef struct hone_argument_info {
  size_t size;
  const char* name;
  int32_t role;     /* HONE_ROLE_... */
  hone_type type;   /* HONE_TYPE_... */
  int64_t elements; /* 1 of a scalar */
  uint64_t bytes;
} hone_argument_info;
HONE_API hone_status hone_kernel_argument(const hone_kernel* kernel, size_t index, hone_argument_info* info, hone_error** error);

/* ---- Tuning: libhone ---- */

/* A request to stop, from any thread; one may stop several sessions. */
typedef struct hone_stop hone_stop;
HONE_API hone_status hone_stop_create(hone_stop** stop, hone_error** error);
HONE_API void hone_stop_request(hone_stop* stop);
HONE_API void hone_stop_free(hone_stop* stop);

/* The progress of a session, after each trial. Its texts live until the callback returns. */
typedef struct hone_progress {
  size_t size;
  int64_t trials;
  double seconds;
  double default_us;   /* 0: not known yet */
  double best_us;      /* 0: not known yet */
  const char* kernel;  /* of an operation: whose trial it was; else "" */
  const char* outcome; /* of the trial: "ok", "wrong_result", ... */
} hone_progress;
/* Called in the thread that tunes. Anything but 0 ends the session, as hone_stop_request does. */
typedef int32_t (*hone_progress_callback)(void* data, const hone_progress* progress);

typedef struct hone_tuning_options {
  size_t size;
  double seconds;                     /* 0: no limit. Neither this nor trials: 60 */
  int64_t trials;                     /* 0: no limit */
  uint64_t seed;                      /* of the search and of the inputs */
  const char* strategy;               /* NULL: "auto" */
  int64_t compile_workers;            /* processes; 0: one for each core */
  int32_t fresh;                      /* begin a new session even if one can be resumed */
  int32_t no_transfer;                /* do not use what the store knows of other shapes, dtypes and devices */
  hone_progress_callback on_progress; /* may be NULL */
  void* on_progress_data;
  const hone_stop* stop; /* may be NULL; must live until the session has ended */
  const char* devices;   /* "cuda:0,cuda:1", "cuda:*": on all of them at once, of the engine's product; NULL: the engine's device */
} hone_tuning_options;

typedef struct hone_tuning hone_tuning;

/* Tunes a kernel or an operation for a problem, in worker processes on the engine's device or on those of the options: blocks until the
 * budget is spent. The winner becomes the record of the problem in the engine's store, which is made if there is none, and the engine's
 * lookups return it from then on. The arguments are those of hone_kernel_find; `options` may be NULL. A session that is stopped keeps its
 * best so far, and the same call resumes it; HONE_ERROR_CANCELLED if nothing was found yet. Other errors: no hone-worker; a default
 * configuration that does not compile or is wrong; a store that cannot be written. If no configuration is correct, it succeeds: see
 * hone_tuning_info.found. */
HONE_API hone_status hone_tune(hone_engine* engine, const char* kernel, const char* dtypes, const hone_extent* extents, size_t extent_count,
                               const hone_tuning_options* options, hone_tuning** tuning, hone_error** error);
HONE_API void hone_tuning_free(hone_tuning* tuning);

/* Texts live as long as the hone_tuning. */
typedef struct hone_tuning_info {
  size_t size;
  int32_t found;             /* whether a configuration was correct */
  int32_t interrupted;       /* it was stopped: times are those of the search, not of a final round */
  const char* kernel;        /* the winner's: of an operation, the one that won */
  const char* configuration; /* the winner, "block=256,vec=4" */
  const char* first_failure; /* of a trial, or "" */
  int64_t session;           /* for `hone sessions` */
  int64_t trials;            /* earlier runs of the session included */
  int64_t wrong;             /* of these, with any other outcome than ok and too_slow */
  double seconds;            /* over all runs of the session */
  double default_us;         /* of the default configuration, in the same final round; 0: not measured */
  double best_us;            /* of the winner: the median, */
  double best_low_us;        /* and the 95 % confidence interval of that */
  double best_high_us;
  double speedup;      /* default_us / best_us */
  int32_t record_kept; /* an earlier record that was not measured beside the winner and is not clearly slower remains */
  int32_t reserved;
} hone_tuning_info;
HONE_API hone_status hone_tuning_describe(const hone_tuning* tuning, hone_tuning_info* info, hone_error** error);
/* Notes for people. The list lives as long as the hone_tuning; do not free it. */
HONE_API const hone_texts* hone_tuning_notes(const hone_tuning* tuning);

/* ---- Records of a store (docs/records.md): libhone. `store` NULL: $HONE_STORE, or hone/store.db of the data directory. ---- */

typedef struct hone_records hone_records;

enum {
  HONE_RECORD_CANDIDATE = 0, /* the winner of a session: served, unless only approved records are asked for */
  HONE_RECORD_APPROVED = 1,
  HONE_RECORD_PINNED = 2,   /* approved, and served although newer records exist */
  HONE_RECORD_WITHDRAWN = 3 /* not served, and its configuration does not become a record of its problem again */
};

typedef struct hone_records_options {
  size_t size;
  const char* kernel;        /* NULL: of all kernels */
  const int64_t* generation; /* which of them were served then; NULL: now */
  int32_t approved_only;     /* only records that were approved or pinned count as served */
  int32_t all;               /* also those that are not served: earlier ones, withdrawn ones */
} hone_records_options;

/* Texts live as long as the list. */
typedef struct hone_record {
  size_t size;
  int64_t id;
  int64_t generation; /* in which it was written */
  int32_t state;      /* HONE_RECORD_... */
  int32_t served;     /* a lookup of its problem finds it */
  const char* kernel;
  const char* source_hash;
  const char* dtypes;
  const char* shape; /* "rows=512,cols=2048" */
  const char* accuracy_bound;
  const char* input_profile;
  const char* product;
  const char* configuration;
  double time_us;    /* 0: not measured */
  double default_us; /* 0: not measured */
  int64_t session;
  const char* created_at; /* UTC, ISO 8601 */
} hone_record;

/* In the order of their generations. `options` may be NULL. HONE_ERROR_NOT_FOUND: there is no store. */
HONE_API hone_status hone_records_list(const char* store, const hone_records_options* options, hone_records** records, hone_error** error);
HONE_API void hone_records_free(hone_records* records);
HONE_API size_t hone_records_count(const hone_records* records);
HONE_API hone_status hone_records_get(const hone_records* records, size_t index, hone_record* record, hone_error** error);

/* Gives records a state (approve, pin, withdraw, or make a candidate again), in one generation, which is returned; `generation` and
 * `reason`, for people, may be NULL. An engine that is open sees the change when it looks a problem up that it has not loaded.
 * HONE_ERROR_NOT_FOUND: there is no such record, and nothing was changed. */
HONE_API hone_status hone_records_set_state(const char* store, const int64_t* ids, size_t count, int32_t state, const char* reason,
                                            int64_t* generation, hone_error** error);
/* Makes the store serve what it served in an earlier generation; nothing is deleted. Returns the new generation. */
HONE_API hone_status hone_records_roll_back(const char* store, int64_t to_generation, const char* reason, int64_t* generation,
                                            hone_error** error);
/* The newest generation; 0 in a new store. */
HONE_API hone_status hone_records_generation(const char* store, int64_t* generation, hone_error** error);

#ifdef __cplusplus
}
#endif

#endif
