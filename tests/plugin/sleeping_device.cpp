// Devices that sleep: a family of them, which take as long as they are told and load no core, so that what runs side by side can be counted
// on any machine. They know one kernel, the built-in copy in f32. A configuration's time follows from its text alone.
//
// SLEEPER_DEVICES   how many there are; 4 unless it is set
// SLEEPER_MS        how long a request to time something takes
// SLEEPER_SPEEDS    "1,1,1.3": times on device i are multiplied by the i-th
// SLEEPER_THROTTLE  "1:40": the times of device 1 are doubled from the 40th request of each of its processes on
// SLEEPER_BROKEN    "0,2": these cannot be opened
// SLEEPER_POISON    "bytes=4": a configuration with this in its text kills the parent of its process
// SLEEPER_WRONG     set: no configuration copies anything
// SLEEPER_LOG       a file to which each request appends "begin ID PID" and "end ID PID"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hone/plugin.h"

namespace {

template <class T>
const T& element(const T* first, std::size_t i, std::size_t stride) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(first) + i * (stride != 0 ? stride : sizeof(T)));
}

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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

std::int32_t enumerate(void* sink, void (*add)(void*, const hone_device_info*), hone_message*) {
  const int count = setting("SLEEPER_DEVICES").empty() ? 4 : std::atoi(setting("SLEEPER_DEVICES").c_str());
  for (int i = 0; i < count; ++i) {
    const std::string id = "sleeper:" + std::to_string(i), uuid = "sleeper-" + std::to_string(::getuid()) + "-" + std::to_string(i);
    hone_device_info info{};
    info.struct_size = sizeof(hone_device_info);
    info.id = id.c_str();
    info.product = "Sleeper";
    info.uuid = uuid.c_str();
    info.architecture = "sleep_1";
    info.properties = kProperties;
    info.property_count = sizeof(kProperties) / sizeof(kProperties[0]);
    info.compile_overlaps = 1;
    add(sink, &info);
  }
  return 0;
}

std::int32_t compiler_version(hone_message* message) {
  std::snprintf(message->text, sizeof(message->text), "sleeper compiler 1.0");
  return 0;
}
std::int32_t create_compiler(const hone_device_info*, void** compiler, hone_message*) {
  *compiler = new int(0);
  return 0;
}
void destroy_compiler(void* compiler) { delete static_cast<int*>(compiler); }

std::int32_t compile(void*, const hone_compile_request* request, const hone_compile_sink* sink, hone_message*) {
  for (std::size_t i = 0; i < request->unit_count; ++i) {
    const hone_unit& unit = element(request->units, i, request->unit_stride);
    const std::string artifact = unit.configuration != nullptr ? unit.configuration : "reference";
    std::vector<const char*> symbols;
    for (std::size_t f = 0; f < unit.function_count; ++f) {
      symbols.push_back(element(unit.functions, f, request->function_stride).expression);
    }
    const hone_compiled compiled{.bytes = artifact.data(),
                                 .byte_count = artifact.size(),
                                 .symbols = symbols.data(),
                                 .resources = {.registers = 16, .spill_bytes = 0, .stack_bytes = 0, .shared_bytes = 0, .occupancy = 0.5}};
    sink->compiled(sink->self, i, &compiled);
  }
  return 0;
}

struct Sleeper {
  std::string id;
  int index = 0, requests = 0;
};

std::int32_t open_device(const hone_device_info* info, void** device, hone_message* message) {
  const std::string id = info->id, number = id.substr(id.find(':') + 1);
  if (("," + setting("SLEEPER_BROKEN") + ",").find("," + number + ",") != std::string::npos) {
    std::snprintf(message->text, sizeof(message->text), "%s does not wake up", id.c_str());
    return 1;
  }
  *device = new Sleeper{id, std::atoi(number.c_str())};
  return 0;
}
void close_device(void* device) { delete static_cast<Sleeper*>(device); }

std::int32_t allocate(void*, std::size_t bytes, void** address, hone_message*) {
  *address = std::malloc(bytes);
  return *address == nullptr ? 1 : 0;
}
void release(void*, void* address) { std::free(address); }
std::int32_t upload(void*, void* destination, const void* host, std::size_t bytes, hone_message*) {
  std::memcpy(destination, host, bytes);
  return 0;
}
std::int32_t download(void*, void* host, const void* source, std::size_t bytes, hone_message*) {
  std::memcpy(host, source, bytes);
  return 0;
}

struct Kernel {
  std::string configuration;
  std::int64_t elements = 0;
  std::vector<std::int32_t> places;  // of the parameters of its only pass
};

std::int32_t load(void*, const hone_load_request* request, void** kernel, hone_message*) {
  const hone_pass& pass = element(request->passes, 0, request->pass_stride);
  *kernel = new Kernel{{static_cast<const char*>(request->bytes), request->byte_count},
                       request->problem[0],
                       {pass.arguments, pass.arguments + pass.argument_count}};
  return 0;
}
void unload(void*, void* kernel) { delete static_cast<Kernel*>(kernel); }

std::int32_t launch(void* handle, void*, void* const* arguments, hone_message*) {
  const Kernel& kernel = *static_cast<Kernel*>(handle);
  const auto address = [&](std::size_t parameter) { return *static_cast<void**>(arguments[kernel.places[parameter]]); };
  for (std::int64_t i = 0; kernel.configuration == "reference" && i < kernel.elements; ++i) {
    static_cast<double*>(address(1))[i] = static_cast<double>(static_cast<const float*>(address(0))[i]);
  }
  if (kernel.configuration != "reference" && setting("SLEEPER_WRONG").empty()) {
    std::memcpy(address(1), address(0), static_cast<std::size_t>(kernel.elements) * sizeof(float));
  }
  return 0;
}

void note(const char* what, const std::string& id) {
  const std::string log = setting("SLEEPER_LOG"), line = std::string(what) + " " + id + " " + std::to_string(::getpid()) + "\n";
  const int file = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0) {
    static_cast<void>(::write(file, line.data(), line.size()));
    ::close(file);
  }
}

double speed_of(const Sleeper& device) {
  std::string speeds = setting("SLEEPER_SPEEDS");
  for (int i = 0; i < device.index && !speeds.empty(); ++i) {
    const std::size_t comma = speeds.find(',');
    speeds = comma == std::string::npos ? "" : speeds.substr(comma + 1);
  }
  const double speed = speeds.empty() ? 1.0 : std::atof(speeds.c_str());
  const std::string throttle = setting("SLEEPER_THROTTLE");
  const bool throttles = !throttle.empty() && std::atoi(throttle.c_str()) == device.index &&
                         device.requests >= std::atoi(throttle.substr(throttle.find(':') + 1).c_str());
  return throttles ? 2.0 * speed : speed;
}

/// From 100 us to 200 us.
double time_of(const std::string& configuration) {
  std::uint32_t sum = 0;
  for (const char c : configuration) {
    sum = sum * 31 + static_cast<unsigned char>(c);
  }
  return 100.0 + static_cast<double>(sum % 1000) / 10.0;
}

std::int32_t time_runs(void* handle, const hone_time_request* request, double* microseconds, hone_message* message) {
  Sleeper& device = *static_cast<Sleeper*>(handle);
  note("begin", device.id);
  ++device.requests;
  const std::string poison = setting("SLEEPER_POISON");
  if (!poison.empty() && ("," + static_cast<Kernel*>(request->kernel)->configuration + ",").find("," + poison + ",") != std::string::npos) {
    ::kill(::getppid(), SIGKILL);
  }
  ::usleep(static_cast<useconds_t>(1000 * std::atoi(setting("SLEEPER_MS").c_str())));
  for (std::size_t i = 0; i < request->samples; ++i) {
    if (const std::int32_t status = launch(request->kernel, nullptr, request->arguments, message); status != 0) {
      return status;
    }
    microseconds[i] = speed_of(device) * time_of(static_cast<Kernel*>(request->kernel)->configuration);
  }
  note("end", device.id);
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
  static const hone_device device = [] {
    hone_device made{};
    made.struct_size = sizeof(hone_device);
    made.name = "sleeper";
    made.enumerate = enumerate;
    made.compiler_version = compiler_version;
    made.create_compiler = create_compiler;
    made.compile = compile;
    made.destroy_compiler = destroy_compiler;
    made.open = open_device;
    made.close = close_device;
    made.allocate = allocate;
    made.release = release;
    made.upload = upload;
    made.download = download;
    made.load = load;
    made.unload = unload;
    made.launch = launch;
    made.time = time_runs;
    return made;
  }();
  static const hone_device* const table[] = {&device};
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = "sleeper",
                                  .version = "1.0",
                                  .strategies = nullptr,
                                  .strategy_count = 0,
                                  .devices = table,
                                  .device_count = 1};
  return &plugin;
}
