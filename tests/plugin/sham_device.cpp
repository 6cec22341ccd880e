// Devices that are none, in terms of hone/plugin.h alone: `sham` has what cannot be left out, `sham_whole` every function of ABI 2, and
// `sham_modern` beside the first ones tensor maps, passes that repeat or overlap, and graphs, `sham_meter` a clock and an energy counter of
// its own: by the block's size it is fast, frugal, both, or fast but for some runs.
// They know one kernel, the built-in copy in f32: an artifact is the configuration's text, and a launch copies memory of the host. Of
// references they know copy_reference, and one that multiplies by 2 what is there.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hone/plugin.h"

namespace {

// Built against the header of ABI 2, too, which has no strides.
#if HONE_PLUGIN_ABI >= 3
#define HONE_STRIDE(type, request, field) (HONE_HAS(type, request, field) ? (request)->field : 0)
#else
#define HONE_STRIDE(type, request, field) 0
#endif

template <class T>
const T& element(const T* first, std::size_t i, std::size_t stride) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(first) + i * (stride != 0 ? stride : sizeof(T)));
}

std::int32_t fail(hone_message* message, const char* text) {
  std::snprintf(message->text, sizeof(message->text), "%s", text);
  return 1;
}

// ---- what there is ----

constexpr hone_property kProperties[] = {{"compute_capability", 0},
                                         {"l2_bytes", 1 << 16},
                                         {"memory", 1LL << 30},
                                         {"multiprocessors", 4},
                                         {"registers_per_multiprocessor", 65536},
                                         {"shared_memory_per_block", 49152},
                                         {"shared_memory_per_multiprocessor", 49152},
                                         {"threads_per_block", 1024},
                                         {"threads_per_multiprocessor", 2048},
                                         {"warp_size", 32}};

std::int32_t enumerate_as(const char* id, void* sink, void (*add)(void*, const hone_device_info*)) {
  hone_device_info info{};  // what is not set is 0, also what comes later
  info.struct_size = sizeof(hone_device_info);
  info.id = id;
  info.product = "Sham 1";
  info.uuid = "";
  info.architecture = "sham_1";
  info.properties = kProperties;
  info.property_count = sizeof(kProperties) / sizeof(kProperties[0]);
  info.compile_overlaps = 1;
  add(sink, &info);
  return 0;
}

std::int32_t enumerate(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) { return enumerate_as("sham:0", sink, add); }
#if HONE_PLUGIN_ABI > 2
std::int32_t enumerate_modern(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) {
  return enumerate_as("sham_modern", sink, add);
}
#endif
#if HONE_PLUGIN_ABI > 2
std::int32_t enumerate_meter(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) {
  return enumerate_as("sham_meter", sink, add);
}
#endif
std::int32_t enumerate_whole(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) {
  return enumerate_as("sham_whole", sink, add);
}

// ---- compiling ----

std::int32_t compiler_version(hone_message* message) {
  std::snprintf(message->text, sizeof(message->text), "sham compiler 1.0");
  return 0;
}

std::int32_t create_compiler(const hone_device_info* info, void** compiler, hone_message*) {
  *compiler = new std::string(info->architecture);
  return 0;
}

void destroy_compiler(void* compiler) { delete static_cast<std::string*>(compiler); }

std::int32_t compile(void*, const hone_compile_request* request, const hone_compile_sink* sink, hone_message* message) {
  if (std::strcmp(request->kernel, "copy") != 0 || request->dtype != HONE_F32) {
    return fail(message, "sham knows one kernel: copy in f32");
  }
  for (std::size_t i = 0; i < request->unit_count; ++i) {
    const hone_unit& unit = element(request->units, i, HONE_STRIDE(hone_compile_request, request, unit_stride));
    const std::string artifact = unit.configuration != nullptr ? unit.configuration : "reference";
    if (artifact.find("in_flight=16") != std::string::npos) {
      sink->failed(sink->self, i, "copy.cu: sham has too few registers for 16 accesses in flight");
      continue;
    }
    std::vector<const char*> symbols;
    for (std::size_t f = 0; f < unit.function_count; ++f) {
      symbols.push_back(element(unit.functions, f, HONE_STRIDE(hone_compile_request, request, function_stride)).expression);
    }
    const hone_compiled compiled{.bytes = artifact.data(),
                                 .byte_count = artifact.size(),
                                 .symbols = symbols.data(),
                                 .resources = {.registers = 16, .spill_bytes = 0, .stack_bytes = 0, .shared_bytes = 0, .occupancy = 0.5}};
    sink->compiled(sink->self, i, &compiled);
  }
  return 0;
}

// ---- memory: the host's, under addresses that a host which reads them itself crashes on ----

constexpr std::uintptr_t kFar = std::uintptr_t{1} << 60;

std::byte* near(const void* address) { return const_cast<std::byte*>(static_cast<const std::byte*>(address)) - kFar; }
void* far(void* address) { return static_cast<std::byte*>(address) + kFar; }

std::int32_t open(const hone_device_info*, void** device, hone_message*) {
  *device = new int(0);  // how many allocations there are
  return 0;
}

void close(void* device) {
  if (*static_cast<int*>(device) != 0) {
    std::abort();  // it was promised that everything is released before
  }
  delete static_cast<int*>(device);
}

std::int32_t allocate(void* device, std::size_t bytes, void** address, hone_message* message) {
  void* const memory = bytes > (std::size_t{1} << 30) ? nullptr : std::malloc(bytes);
  if (memory == nullptr) {
    return fail(message, "sham has 1 GiB of memory");
  }
  *address = far(memory);
  ++*static_cast<int*>(device);
  return 0;
}

void release(void* device, void* address) {
  std::free(near(address));
  --*static_cast<int*>(device);
}

std::int32_t upload(void*, void* destination, const void* host, std::size_t bytes, hone_message*) {
  std::memcpy(near(destination), host, bytes);
  return 0;
}

std::int32_t download(void*, void* host, const void* source, std::size_t bytes, hone_message*) {
  std::memcpy(host, near(source), bytes);
  return 0;
}

// ---- running ----

struct Pass {
  std::string symbol;
  std::int64_t extent = 0;
  std::vector<std::int32_t> places;  // of its parameters among the arguments
  std::int32_t run_index = 0;
  std::int32_t mapped = -1;  // the argument of its tensor map
  std::int64_t map_offset = 0, map_bytes = 0;
};

/// An argument that each launch copies to a variable; that of `copy` is then what is copied.
struct Constant {
  std::int32_t argument = 0;
  std::vector<std::byte> variable;
};

struct Kernel {
  std::string configuration;
  std::int64_t elements = 0;
  std::vector<Pass> passes;
  std::vector<Constant> constants = {};
};

std::int32_t load(void*, const hone_load_request* request, void** kernel, hone_message*) {
  auto* const made = new Kernel{{static_cast<const char*>(request->bytes), request->byte_count}, request->problem[0], {}, {}};
  for (std::size_t i = 0; i < request->pass_count; ++i) {
    const hone_pass& pass = element(request->passes, i, HONE_STRIDE(hone_load_request, request, pass_stride));
    made->passes.push_back({pass.symbol, pass.extent, {pass.arguments, pass.arguments + pass.argument_count}});
  }
#if HONE_PLUGIN_ABI > 2
  const std::size_t count = HONE_HAS(hone_load_request, request, constant_stride) ? request->constant_count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const hone_constant& constant = element(request->constants, i, request->constant_stride);
    made->constants.push_back({constant.argument, std::vector<std::byte>(constant.bytes)});
  }
  for (std::size_t i = 0; HONE_HAS(hone_load_request, request, tensor_map_stride) && i < request->pass_count; ++i) {
    const hone_pass_details& details = element(request->details, i, request->detail_stride);
    made->passes[i].run_index = details.run_index;
    if (details.tensor_map_count > 0) {
      const hone_tensor_map& map = element(details.tensor_maps, details.tensor_map_count - 1, request->tensor_map_stride);
      made->passes[i].mapped = map.argument;
      made->passes[i].map_offset = map.offset_bytes;
      made->passes[i].map_bytes = map.size[0] * map.stride_bytes[0];
    }
  }
#endif
  *kernel = made;
  return 0;
}

void run_reference(const Pass& pass, void* const* arguments) {
  const auto address = [&](std::size_t parameter) { return near(*static_cast<void**>(arguments[pass.places[parameter]])); };
  const bool twice = pass.symbol == "copy_reference_twice<f32>";
  double* const to = reinterpret_cast<double*>(address(twice ? 0 : 1));
  for (std::int64_t i = 0; i < pass.extent; ++i) {
    to[i] = twice ? 2.0 * to[i] : static_cast<double>(reinterpret_cast<const float*>(address(0))[i]);
  }
}

void unload(void*, void* kernel) { delete static_cast<Kernel*>(kernel); }

std::int32_t launch(void* handle, void*, void* const* arguments, hone_message* message) {
  Kernel& kernel = *static_cast<Kernel*>(handle);
  if (kernel.configuration == "reference") {
    for (const Pass& pass : kernel.passes) {
      run_reference(pass, arguments);
    }
    return 0;
  }
  if (kernel.configuration.find("resident=16") != std::string::npos) {
    return fail(message, "sham cannot hold 16 blocks");
  }
  if (kernel.configuration.find("resident=8") != std::string::npos) {
    fail(message, "sham has lost itself");
    return HONE_LOST;
  }
  if (kernel.configuration.find("resident=4") != std::string::npos) {
    std::abort();
  }
  const bool wrong = kernel.configuration.find("in_flight=8") != std::string::npos;  // leaves the last element out
  const std::byte* from = near(*static_cast<void**>(arguments[kernel.passes[0].places[0]]));
  for (Constant& constant : kernel.constants) {
    std::memcpy(constant.variable.data(), near(*static_cast<void**>(arguments[constant.argument])), constant.variable.size());
    from = constant.variable.data();
  }
  std::byte* const to = near(*static_cast<void**>(arguments[kernel.passes[0].places[1]]));
  std::memcpy(to, from, static_cast<std::size_t>(kernel.elements - (wrong ? 1 : 0)) * sizeof(float));
  return 0;
}

// ---- what may be left out: answers that the host's own way would not give ----

std::int32_t synchronize(void*, hone_message*) { return 0; }

std::int32_t resources(void*, hone_resources* seen, hone_message*) {
  *seen = {.registers = 17, .spill_bytes = 0, .stack_bytes = 0, .shared_bytes = 64, .occupancy = 0.25};
  return 0;
}

std::int32_t copy(void*, void* destination, const void* source, std::size_t bytes, hone_message*) {
  std::memmove(near(destination), near(source), bytes);
  return 0;
}

std::int32_t fill(void*, void*, void* destination, std::size_t bytes, std::uint8_t pattern, hone_message*) {
  std::memset(near(destination), pattern, bytes);
  return 0;
}

std::int32_t randomize(void*, void* destination, std::int32_t, std::size_t count, std::uint64_t, hone_message*) {
  for (std::size_t i = 0; i < count; ++i) {
    reinterpret_cast<float*>(near(destination))[i] = 42.0F;
  }
  return 0;
}

std::int32_t compare(void*, const void*, std::int32_t, const double*, std::size_t, const hone_tolerance* tolerance,
                     hone_comparison* comparison, hone_message*) {
  *comparison = {
      .mismatches = 7, .not_finite = 1, .first_mismatch = 3, .first_actual = 1.0, .first_expected = 2.0, .max_error = tolerance->relative};
  return 0;
}

std::int32_t checksum(void*, const void*, std::size_t bytes, std::uint64_t* digest, hone_message*) {
  *digest = bytes;
  return 0;
}

std::int32_t time(void*, const hone_time_request* request, double* microseconds, hone_message* message) {
  for (std::size_t i = 0; i < request->samples; ++i) {
    if (const std::int32_t status = launch(request->kernel, nullptr, request->arguments, message); status != 0) {
      return status;
    }
    microseconds[i] = static_cast<double>(i) + static_cast<double>(request->preparation_count) / 10.0;
  }
  return 0;
}

std::int32_t readings(void*, hone_readings* seen, hone_message*) {
  *seen = {.sm_clock_mhz = 1000.0, .memory_clock_mhz = 2000.0, .temperature_c = 30.0, .power_w = 5.0, .throttle_reasons = 4};
  return 0;
}

#if HONE_PLUGIN_ABI > 2
// ---- what is younger than ABI 2 ----

/// Copies from the pass's tensor map, or its first argument, to its second; a run index is added to the first element.
void copy_pass(const Kernel& kernel, const Pass& pass, void* const* arguments) {
  const auto address = [&](std::int32_t argument) { return near(*static_cast<void**>(arguments[argument])); };
  std::byte* const to = address(pass.places[1]);
  if (pass.mapped >= 0) {
    std::memcpy(to, address(pass.mapped) + pass.map_offset, static_cast<std::size_t>(pass.map_bytes));
  } else {
    std::memcpy(to, address(pass.places[0]), static_cast<std::size_t>(kernel.elements) * sizeof(float));
  }
  if (pass.places.size() > 2 && pass.places[2] == HONE_RUN_INDEX) {
    *reinterpret_cast<float*>(to) += static_cast<float>(pass.run_index);
  }
}

std::int32_t launch_passes(void* handle, void*, void* const* arguments, std::size_t first, std::size_t count, hone_message*) {
  const Kernel& kernel = *static_cast<Kernel*>(handle);
  for (std::size_t pass = first; pass < first + count; ++pass) {
    copy_pass(kernel, kernel.passes[pass], arguments);
  }
  return 0;
}

std::int32_t launch_modern(void* handle, void* stream, void* const* arguments, hone_message* message) {
  const Kernel& kernel = *static_cast<Kernel*>(handle);
  return kernel.configuration == "reference" ? launch(handle, stream, arguments, message)
                                             : launch_passes(handle, stream, arguments, 0, kernel.passes.size(), message);
}

std::int32_t invert(void*, const hone_region* regions, std::size_t count, std::size_t stride, std::int32_t late, hone_message* message) {
  if (late != 0 && count == 0) {
    return fail(message, "nothing to be late with");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const hone_region& region = element(regions, i, stride);
    for (std::size_t byte = 0; byte < region.bytes; ++byte) {
      near(region.address)[byte] = ~near(region.address)[byte];
    }
  }
  return 0;
}

std::int32_t paint_shared(void*, std::uint8_t pattern, hone_message* message) {
  return pattern == 0xee ? fail(message, "sham has no paint of this colour") : 0;
}

/// The values of each call's arguments, which are addresses.
struct Graph {
  void* kernel = nullptr;
  std::vector<std::vector<void*>> calls;
};

std::int32_t create_graph(void*, void* kernel, void* const* const* arguments, std::size_t calls, void** graph, hone_message* message) {
  constexpr std::size_t kArguments = 2, kMostCalls = 16;
  if (calls > kMostCalls) {
    return fail(message, "sham has graphs of 16 calls at most");
  }
  auto* const made = new Graph{kernel, {}};
  for (std::size_t call = 0; call < calls; ++call) {
    std::vector<void*>& values = made->calls.emplace_back();
    for (std::size_t i = 0; i < kArguments; ++i) {
      values.push_back(*static_cast<void**>(arguments[call][i]));
    }
  }
  *graph = made;
  return 0;
}

std::int32_t time_graph(void* handle, double* microseconds, hone_message* message) {
  Graph& graph = *static_cast<Graph*>(handle);
  for (std::vector<void*>& values : graph.calls) {
    void* const arguments[] = {&values[0], &values[1]};
    if (const std::int32_t status = launch_modern(graph.kernel, nullptr, arguments, message); status != 0) {
      return status;
    }
  }
  *microseconds = 1000.0 + static_cast<double>(graph.calls.size());
  return 0;
}

void destroy_graph(void* graph) { delete static_cast<Graph*>(graph); }

/// Of a process: what its launches have taken, on a clock that nothing else moves.
struct Meter {
  double seconds = 0.0, joules = 0.0, shown_joules = 0.0, updated = 0.0, last_us = 0.0;
  std::uint64_t runs = 0;
};
Meter meter;

struct Behaviour {
  const char* block;
  double us, watts;
};
/// Fastest: 256. Least energy: 64. Least energy times time: 512, which also has the fewest slow runs of the fast ones.
constexpr Behaviour kBehaviours[] = {{"block=64,", 100.0, 300.0},
                                     {"block=128,", 80.0, 400.0},
                                     {"block=256,", 60.0, 700.0},
                                     {"block=512,", 70.0, 500.0},
                                     {"block=1024,", 90.0, 350.0}};

std::int32_t launch_meter(void* handle, void* stream, void* const* arguments, hone_message* message) {
  constexpr double kUpdateSeconds = 0.02;
  const Kernel& kernel = *static_cast<Kernel*>(handle);
  if (kernel.configuration != "reference") {
    for (const Behaviour& one : kBehaviours) {
      if (kernel.configuration.find(one.block) == std::string::npos) {
        continue;
      }
      ++meter.runs;
      const bool slow = one.watts == 700.0 && meter.runs % 25 == 0;
      const double jitter = 1.0 + 0.004 * (static_cast<double>(meter.runs * 7919 % 11) - 5.0) / 5.0;
      meter.last_us = one.us * jitter * (slow ? 2.0 : 1.0);
      meter.seconds += 1e-6 * meter.last_us;
      meter.joules += 1e-6 * meter.last_us * one.watts;
      if (meter.seconds >= meter.updated + kUpdateSeconds) {
        meter.updated = meter.seconds;
        meter.shown_joules = meter.joules;
      }
    }
  }
  return launch(handle, stream, arguments, message);
}

std::int32_t time_meter(void*, const hone_time_request* request, double* microseconds, hone_message* message) {
  for (std::size_t i = 0; i < request->samples; ++i) {
    if (const std::int32_t status = launch_meter(request->kernel, nullptr, request->arguments, message); status != 0) {
      return status;
    }
    microseconds[i] = meter.last_us;
  }
  return 0;
}

std::int32_t energy_meter(void*, hone_energy* energy, hone_message*) {
  *energy = {.joules = meter.shown_joules, .seconds = meter.seconds, .resolution_joules = 1e-3};
  return 0;
}

/// Nobody's clock: what takes 5 us is short.
std::int32_t time_modern(void*, const hone_time_request* request, double* microseconds, hone_message* message) {
  for (std::size_t i = 0; i < request->samples; ++i) {
    if (const std::int32_t status = launch_modern(request->kernel, nullptr, request->arguments, message); status != 0) {
      return status;
    }
    for (std::size_t p = 0; i + 1 < request->samples && p < request->preparation_count; ++p) {
      const hone_preparation& step = element(request->preparations, p, request->preparation_stride);
      if (step.source != nullptr) {
        std::memmove(near(step.destination), near(step.source), step.bytes);
      } else {
        std::memset(near(step.destination), 0, step.bytes);
      }
    }
    microseconds[i] = 5.0;
  }
  return 0;
}
#endif

hone_device whole() {
  hone_device device{};
  device.struct_size = sizeof(hone_device);
  device.name = "sham_whole";
  device.enumerate = enumerate_whole;
  device.compiler_version = compiler_version;
  device.create_compiler = create_compiler;
  device.compile = compile;
  device.destroy_compiler = destroy_compiler;
  device.open = open;
  device.close = close;
  device.allocate = allocate;
  device.release = release;
  device.upload = upload;
  device.download = download;
  device.load = load;
  device.unload = unload;
  device.launch = launch;
  device.synchronize = synchronize;
  device.resources = resources;
  device.copy = copy;
  device.fill = fill;
  device.randomize = randomize;
  device.compare = compare;
  device.checksum = checksum;
  device.time = time;
  device.readings = readings;
#if HONE_PLUGIN_ABI > 2
  device.copies_constants = 1;
#endif
  return device;
}

hone_device least() {
  hone_device device = whole();
  device.name = "sham";
  device.enumerate = enumerate;
  device.synchronize = nullptr;
  device.resources = nullptr;
  device.copy = nullptr;
  device.fill = nullptr;
  device.randomize = nullptr;
  device.compare = nullptr;
  device.checksum = nullptr;
  device.time = nullptr;
  device.readings = nullptr;
#if HONE_PLUGIN_ABI > 2
  device.copies_constants = 0;
#endif
  return device;
}

#if HONE_PLUGIN_ABI > 2
hone_device modern() {
  hone_device device = least();
  device.name = "sham_modern";
  device.enumerate = enumerate_modern;
  device.launch = launch_modern;
  device.time = time_modern;
  device.encodes_tensor_maps = 1;
  device.repeats_passes = 1;
  device.create_graph = create_graph;
  device.time_graph = time_graph;
  device.destroy_graph = destroy_graph;
  device.launch_passes = launch_passes;
  device.invert = invert;
  device.paint_shared = paint_shared;
  return device;
}

hone_device metered() {
  hone_device device = least();
  device.name = "sham_meter";
  device.enumerate = enumerate_meter;
  device.launch = launch_meter;
  device.time = time_meter;
  device.energy = energy_meter;
  return device;
}
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
#if HONE_PLUGIN_ABI > 2
  static const hone_device devices[] = {least(), whole(), modern(), metered()};
  static const hone_device* const table[] = {&devices[0], &devices[1], &devices[2], &devices[3]};
#else
  static const hone_device devices[] = {least(), whole()};
  static const hone_device* const table[] = {&devices[0], &devices[1]};
#endif
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = "sham",
                                  .version = "1.0",
                                  .strategies = nullptr,
                                  .strategy_count = 0,
                                  .devices = table,
                                  .device_count = sizeof(table) / sizeof(table[0])};
  return &plugin;
}
