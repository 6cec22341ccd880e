// Built several times, each with another thing wrong: every call fails in a way of its own (FAILING), enumerating never ends
// (STALLING), the name is taken (TAKEN), a function
// is missing (PARTIAL), a device lacks a property (NARROW) or a property a name (NAMELESS), or the plugin's table is of the time before
// devices (OLD), with nonsense behind its end. Or nothing is wrong, and a host that goes by its own sizes would see it so: structs end
// after what they must have, with nonsense behind (SHORT), or they are longer and lie further apart than the host knows them (WIDE). Or
// they end before that (CUT). Or a device has one of the functions that are needed together (TORN_GRAPHS, TORN_OVERLAP).

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "hone/plugin.h"

namespace {

std::int32_t fail(hone_message* message, const char* text) {
  std::snprintf(message->text, sizeof(message->text), "%s", text);
  return 1;
}

constexpr hone_property kProperties[] = {
    {"compute_capability", 0},
    {"l2_bytes", 0},
    {"memory", 0},
    {"multiprocessors", 1},
    {"registers_per_multiprocessor", 0},
    {"shared_memory_per_block", 0},
    {"threads_per_block", 1},
    {"threads_per_multiprocessor", 1},
    {"warp_size", 1},
#ifdef NAMELESS
    {nullptr, 0},
#else
    {"shared_memory_per_multiprocessor", 0},
#endif
};
#ifdef NARROW
constexpr std::size_t kPropertyCount = 9;
#else
constexpr std::size_t kPropertyCount = 10;
#endif
#ifdef TAKEN
constexpr const char* kName = "cpu";
#else
constexpr const char* kName = "failing";
#endif

int something = 0;  // what every handle points to

#ifdef WIDE
struct WideProperty {
  hone_property known;
  std::int64_t later[3] = {-1, -1, -1};
};
struct WideText {
  hone_text known;
  std::int64_t later;
};
struct WideCompiled {
  hone_compiled known;
  std::int64_t later[2];
};
std::int32_t compile_wide(void*, const hone_compile_request* request, const hone_compile_sink* sink, hone_message*) {
  const char* const symbol = "one";
  for (std::size_t i = 0; i < request->unit_count; ++i) {
    WideCompiled compiled{};
    compiled.known.bytes = "code";
    compiled.known.byte_count = 4;
    compiled.known.symbols = &symbol;
    compiled.known.resources.occupancy = 0.75;
    sink->compiled(sink->self, i, &compiled.known);
  }
  return 0;
}
std::int32_t readings_wide(void*, hone_readings* readings, hone_message*) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(readings);
  for (std::size_t i = sizeof(hone_readings); i < HONE_ROOM; ++i) {
    if (bytes[i] != 0) {
      return 1;
    }
  }
  std::memset(readings, 0x40, HONE_ROOM);  // what this version knows of it is longer
  readings->power_w = 7.0;
  return 0;
}
#endif

std::int32_t enumerate(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) {
#ifdef STALLING
  for (;;) {
    pause();
  }
#endif
  struct {
    hone_device_info info{};
    std::int64_t later[4] = {-1, -1, -1, -1};
  } given;
  hone_device_info& info = given.info;
  info.struct_size = sizeof(hone_device_info);
  info.id = kName;
  info.product = "Failing 1";
  info.uuid = "";
  info.architecture = "failing_1";
  info.properties = kProperties;
  info.property_count = kPropertyCount;
  info.compile_overlaps = 1;
#ifdef SHORT
  info.struct_size = offsetof(hone_device_info, environment);
  info.environment = reinterpret_cast<const hone_text*>(1);
  info.environment_count = 1000;
#endif
#ifdef WIDE
  static WideProperty properties[kPropertyCount];
  for (std::size_t i = 0; i < kPropertyCount; ++i) {
    properties[i].known = kProperties[i];
  }
  static const WideText environment[] = {{{"compiler", "wide 1.0"}, -1}, {{"driver", "2.0"}, -1}};
  info.struct_size = sizeof(given);
  info.properties = &properties[0].known;
  info.property_stride = sizeof(WideProperty);
  info.environment = &environment[0].known;
  info.environment_count = 2;
  info.environment_stride = sizeof(WideText);
#endif
  add(sink, &info);
  return 0;
}
std::int32_t compiler_version(hone_message* message) { return fail(message, "no compiler is installed"); }
std::int32_t create(const hone_device_info*, void** made, hone_message*) {
  *made = &something;
  return 0;
}
std::int32_t compile(void*, const hone_compile_request*, const hone_compile_sink* sink, hone_message* message) {
  sink->failed(sink->self, 0, "line 1: error");
  sink->failed(sink->self, 1000, "no such unit");
  return fail(message, "the compiler is gone");
}
void nothing(void*) {}
std::int32_t allocate(void*, std::size_t bytes, void** address, hone_message* message) {
  *address = &something;
  return bytes > 64 ? fail(message, "64 bytes are there") : 0;
}
void release(void*, void*) { throw std::runtime_error("nobody hears this"); }
std::int32_t upload(void*, void*, const void*, std::size_t, hone_message*) { throw std::runtime_error("upload threw"); }
std::int32_t download(void*, void*, const void*, std::size_t, hone_message*) { throw 1; }
std::int32_t load(void*, const hone_load_request* request, void** kernel, hone_message*) {
  *kernel = request->passes[0].extent > 0 ? nullptr : &something;
  return 0;
}
void unload(void*, void*) {}
std::int32_t time(void*, const hone_time_request* request, double* samples, hone_message*) {
  for (std::size_t i = 0; i < request->samples; ++i) {
    samples[i] = i == 0 ? 1.0 : 0.0;
  }
  return 0;
}
[[maybe_unused]] std::int32_t launch(void*, void* stream, void* const*, hone_message* message) {
  return stream != nullptr ? fail(message, "too many threads") : HONE_LOST;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
  static const hone_device device = [] {
    hone_device made{};
    made.struct_size = sizeof(hone_device);
    made.name = kName;
    made.enumerate = enumerate;
    made.compiler_version = compiler_version;
    made.create_compiler = create;
    made.compile = compile;
    made.destroy_compiler = nothing;
    made.open = create;
    made.close = nothing;
    made.allocate = allocate;
    made.release = release;
    made.upload = upload;
    made.download = download;
    made.load = load;
    made.unload = unload;
    made.time = time;
#ifndef PARTIAL
    made.launch = launch;
#endif
#ifdef SHORT
    made.struct_size = offsetof(hone_device, synchronize);
    made.synchronize = [](void*, hone_message*) -> std::int32_t { throw std::runtime_error("behind the end"); };
#endif
#ifdef TORN_GRAPHS
    made.destroy_graph = nothing;
#endif
#ifdef TORN_OVERLAP
    made.launch_passes = [](void*, void*, void* const*, std::size_t, std::size_t, hone_message*) -> std::int32_t { return 0; };
#endif
#ifdef CUT
    made.struct_size = offsetof(hone_device, load);
#endif
    return made;
  }();
#ifdef WIDE
  struct Wide {
    hone_device known;
    void (*later[4])(void*);
  };
  static const Wide wide = [] {
    Wide made{device, {nothing, nothing, nothing, nothing}};
    made.known.struct_size = sizeof(made);
    made.known.compile = compile_wide;
    made.known.readings = readings_wide;
    made.known.compiled_size = sizeof(WideCompiled);
    return made;
  }();
  static const hone_device* const devices[] = {&wide.known};
#else
  static const hone_device* const devices[] = {&device};
#endif
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
#ifdef OLD
                                  .struct_size = offsetof(hone_plugin, devices),
#else
                                  .struct_size = sizeof(hone_plugin),
#endif
                                  .name = "bad",
                                  .version = "1.0",
                                  .strategies = nullptr,
                                  .strategy_count = 0,
                                  .devices = devices,
                                  .device_count = 1};
  return &plugin;
}
