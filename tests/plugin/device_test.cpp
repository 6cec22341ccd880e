// Devices in shared objects, through the registry.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/measure.hpp"
#include "engine/plugin/plugin_loader.hpp"
#include "hone/plugin.h"

namespace {

using namespace hone;

std::filesystem::path built(const char* name) {
  return std::filesystem::path(HONE_BINARY_DIR) / "tests" / "plugin" / "devices" / (std::string(name) + ".so");
}

/// The same source, built against today's header and against that of ABI 2: test cases that ask for it run once for each.
std::filesystem::path sham_file() {
  std::filesystem::path file = built("sham_device");
  SUBCASE("built for this ABI") {}
  SUBCASE("built for ABI 2") { file = std::filesystem::path(HONE_BINARY_DIR) / "tests" / "plugin" / "abi2" / "abi2_sham_device.so"; }
  return file;
}

Registry with_file(const std::filesystem::path& file) {
  Registry registry = make_builtin_registry();
  const auto loaded = load_plugin(registry, file);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  return registry;
}

Registry with(const char* plugin) { return with_file(built(plugin)); }
Registry with_sham() { return with_file(sham_file()); }

std::unique_ptr<Device> open(const Registry& registry, const char* id) {
  const Registry::Found found = registry.device(id).value();
  return found.plugin->open(found.info).value();
}

template <class T>
std::string message_of(const Result<T>& result, ErrorCode code) {
  REQUIRE_FALSE(result.ok());
  CHECK(static_cast<int>(result.error().code) == static_cast<int>(code));
  return result.error().message;
}

std::vector<std::byte> download(Device& device, const void* source, std::size_t bytes) {
  std::vector<std::byte> held(bytes);
  REQUIRE(device.download(held, source).ok());
  return held;
}

/// Compiled and loaded for n elements of copy, in a configuration that the text describes.
Result<std::unique_ptr<LoadedKernel>> try_load_copy(const Registry& registry, Device& device, const char* configuration, std::int64_t n,
                                                    const std::vector<ConstantCopy>& constants = {}) {
  const KernelSpec& spec = *find_builtin_kernel("copy").value();
  const Registry::Found found = registry.device(device.info().id).value();
  const Configuration chosen = parse_configuration(spec.parameters, configuration).value();
  auto compiled = found.plugin->compiler(found.info)
                      .value()
                      ->compile({.spec = &spec, .dtype = DType::kF32, .configurations = {chosen}, .reference = false});
  const Problem problem = make_problem(spec, DType::kF32, {{"n", n}}).value();
  std::vector<PassLaunch> plan = plan_launch(spec, problem, chosen, device.info()).value();
  plan.front().constants = constants;
  return device.load(compiled.at(0).value(), plan, problem);
}

std::unique_ptr<LoadedKernel> load_copy(const Registry& registry, Device& device, const char* configuration, std::int64_t n) {
  return try_load_copy(registry, device, configuration, n).value();
}

/// As a device loads it: the plan of the default configuration for n elements of copy, which a test changes.
struct PlannedCopy {
  PlannedCopy(const Registry& registry, const DeviceInfo& info, std::int64_t n) {
    const KernelSpec& spec = *find_builtin_kernel("copy").value();
    const Configuration chosen = default_configuration(spec);
    problem = make_problem(spec, DType::kF32, {{"n", n}}).value();
    plan = plan_launch(spec, problem, chosen, info).value();
    const auto compiler = registry.device(info.id).value().plugin->compiler(info).value();
    compiled = compiler->compile({.spec = &spec, .dtype = DType::kF32, .configurations = {chosen}, .reference = false}).at(0).value();
  }
  Problem problem;
  std::vector<PassLaunch> plan;
  Compiled compiled;
};

/// Device memory that holds these.
std::unique_ptr<Buffer> holding(Device& device, const std::vector<float>& values) {
  auto buffer = device.allocate(values.size() * sizeof(float)).value();
  REQUIRE(device.upload(buffer->address(), std::as_bytes(std::span(values))).ok());
  return buffer;
}

std::vector<float> held(Device& device, const Buffer& buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  REQUIRE(device.download(std::as_writable_bytes(std::span(values)), buffer.address()).ok());
  return values;
}

constexpr DType kAll[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32};

}  // namespace

TEST_CASE("a plugin's devices are registered and found by name and by id, with what Hone adds to them") {
  const std::filesystem::path file = sham_file();
  const Registry registry = with_file(file);
  for (const char* id : {"sham", "sham:0"}) {
    const Registry::Found found = registry.device(id).value();
    CHECK(found.info.id == "sham:0");
    CHECK(found.info.plugin == "sham");
    CHECK(found.info.product == "Sham 1");
    CHECK(found.info.properties.at("multiprocessors") == 4);
    CHECK(found.info.environment.at("compiler") == "sham 1.0");
    CHECK(found.plugin->file() == file);
    CHECK(found.plugin->compiler_version().value() == "sham compiler 1.0");
  }
  CHECK(registry.device("sham_whole").value().info.id == "sham_whole");
  CHECK_FALSE(registry.device("sham:1").ok());
}

TEST_CASE("what a device leaves to the host comes out as on the cpu device") {
  const Registry registry = with_sham();
  const auto sham = open(registry, "sham"), cpu = open(registry, "cpu");
  constexpr std::size_t kCount = (std::size_t{1} << 20) + 37;  // more than one piece
  for (const DType dtype : kAll) {
    CAPTURE(name(dtype));
    const std::size_t bytes = kCount * size_of(dtype);
    const auto there = sham->allocate(bytes).value(), copied = sham->allocate(bytes).value(), here = cpu->allocate(bytes).value();
    REQUIRE(sham->randomize(there->address(), dtype, kCount, 11).ok());
    REQUIRE(cpu->randomize(here->address(), dtype, kCount, 11).ok());
    CHECK(download(*sham, there->address(), bytes) == download(*cpu, here->address(), bytes));
    REQUIRE(sham->copy(copied->address(), there->address(), bytes).ok());
    CHECK(sham->checksum(copied->address(), bytes).value() == cpu->checksum(here->address(), bytes).value());
    REQUIRE(sham->fill(copied->address(), bytes, 0x5a).ok());
    CHECK(download(*sham, copied->address(), bytes) == std::vector<std::byte>(bytes, std::byte{0x5a}));
  }
}

TEST_CASE("a comparison left to the host finds what the cpu device finds") {
  const Registry registry = with_sham();
  const std::vector<float> actual{1.0F, 2.1F, std::nanf(""), 4.0F, std::numeric_limits<float>::infinity(), 0.0F};
  const std::vector<double> expected{1.0, 2.0, 3.0, 4.001, std::numeric_limits<double>::infinity(), 0.0};
  std::vector<Comparison> found;
  for (const char* id : {"sham", "cpu"}) {
    const auto device = open(registry, id);
    const auto x = device->allocate(actual.size() * sizeof(float)).value(), y = device->allocate(expected.size() * sizeof(double)).value();
    REQUIRE(device->upload(x->address(), std::as_bytes(std::span(actual))).ok());
    REQUIRE(device->upload(y->address(), std::as_bytes(std::span(expected))).ok());
    found.push_back(
        device->compare(x->address(), DType::kF32, static_cast<const double*>(y->address()), actual.size(), {0.001, 0.001, 1e-6}).value());
  }
  CHECK(found[0].elements == 6);
  CHECK(found[0].mismatches == 2);
  CHECK(found[0].not_finite == 1);
  CHECK(found[0].first_mismatch == 1);
  CHECK(found[0].mismatches == found[1].mismatches);
  CHECK(found[0].first_actual == found[1].first_actual);
  CHECK(found[0].max_error == doctest::Approx(found[1].max_error));
}

TEST_CASE("a kernel is compiled, loaded, launched and timed on a device of the least functions") {
  const Registry registry = with_sham();
  const auto device = open(registry, "sham");
  const auto kernel = load_copy(registry, *device, "block=128", 1000);
  CHECK(kernel->resources().registers == 16);
  const auto x = device->allocate(4000).value(), y = device->allocate(4000).value();
  REQUIRE(device->randomize(x->address(), DType::kF32, 1000, 3).ok());
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(download(*device, to, 4000) == download(*device, from, 4000));
  const Preparation clear{Preparation::Kind::kZero, to, nullptr, 4000};
  const auto samples =
      device->time({.kernel = kernel.get(), .arguments = arguments, .preparations = {&clear, 1}, .samples = 3, .flush_cache = true})
          .value()
          .us;
  CHECK(samples.size() == 3);
  CHECK(download(*device, to, 4000) == download(*device, from, 4000));
  CHECK(device->readings().power_w == 0.0);
}

TEST_CASE("what goes to constant memory is asked of devices that copy it, and others refuse the kernel") {
  const Registry registry = with_sham();
  const std::vector<ConstantCopy> constants{{.argument = 2, .symbol = "table", .bytes = 400}};
  const auto least = open(registry, "sham");
  const std::string refused = message_of(try_load_copy(registry, *least, "block=128", 100, constants), ErrorCode::kLaunch);
  CHECK(refused.find("the kernel has 'table' in constant memory (CONSTANT), and this device does not support copies to it") !=
        std::string::npos);
  const auto device = open(with("sham_device"), "sham_whole");
  const auto kernel = try_load_copy(registry, *device, "block=128", 100, constants).value();
  const auto x = device->allocate(400).value(), y = device->allocate(400).value(), table = device->allocate(400).value();
  REQUIRE(device->fill(table->address(), 400, 7).ok());
  void *from = x->address(), *to = y->address(), *constant = table->address();
  void* const arguments[] = {&from, &to, &constant};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(download(*device, to, 400) == std::vector<std::byte>(400, std::byte{7}));
}

TEST_CASE("a graph of calls is made by devices that have them: prepared before each run, looked at after it") {
  const Registry registry = with("sham_device");
  const auto least = open(registry, "sham"), device = open(registry, "sham_modern");
  PlannedCopy copy(registry, device->info(), 4);
  const auto kernel = device->load(copy.compiled, copy.plan, copy.problem).value();
  const auto x = holding(*device, {1, 2, 3, 4}), y = holding(*device, {9, 9, 9, 9}), z = holding(*device, {8, 8, 8, 8});
  const std::vector<double> wanted{5, 2, 3, 4};
  const auto answer = device->allocate(4 * sizeof(double)).value();
  REQUIRE(device->upload(answer->address(), std::as_bytes(std::span(wanted))).ok());
  void *from = x->address(), *first = y->address(), *second = z->address();
  void *const one[] = {&from, &first}, *const other[] = {&from, &second};
  const Watch watch{.address = second, .expected = static_cast<const double*>(answer->address()), .count = 4, .relative = 1e-6};
  const std::vector<GraphCall> calls{{.arguments = one, .preparations = {{Preparation::Kind::kZero, from, nullptr, 4}}, .watches = {}},
                                     {.arguments = other, .preparations = {}, .watches = {watch}}};
  CHECK(message_of(least->graph(*kernel, calls), ErrorCode::kUnavailable) == "device sham: create_graph: the device has no graphs");
  {
    const auto graph = device->graph(*kernel, calls).value();
    const TimedRuns runs = graph->time(2, 5).value();
    CHECK(runs.us == std::vector<double>{1002.0, 1002.0});
    CHECK(runs.unmended == 2);  // the preparation made the first element 0, where 5 is right
  }
  CHECK(held(*device, *y) == std::vector<float>{0, 2, 3, 4});
  CHECK(held(*device, *z) == std::vector<float>{0, 2, 3, 4});
  const std::vector<GraphCall> many(17, GraphCall{.arguments = one, .preparations = {}, .watches = {}});
  CHECK(message_of(device->graph(*kernel, many), ErrorCode::kUnavailable) ==
        "device sham_modern: create_graph: sham has graphs of 16 calls at most");
}

TEST_CASE("a short kernel is timed as a graph of calls on a plugin's device that has graphs") {
  const Registry registry = with("sham_device");
  const auto device = open(registry, "sham_modern");
  PlannedCopy copy(registry, device->info(), 1000);
  const KernelSpec& spec = *find_builtin_kernel("copy").value();
  const auto compiler = registry.device("sham_modern").value().plugin->compiler(device->info()).value();
  const Compiled reference =
      compiler->compile({.spec = &spec, .dtype = DType::kF32, .configurations = {}, .reference = true}).at(0).value();
  const auto kernel = device->load(copy.compiled, copy.plan, copy.problem).value();
  const auto bench = Bench::create(*device, spec, copy.problem, reference).value();
  REQUIRE(bench->draw(1).ok());
  Readings readings;
  const Timing timed = bench->time(*kernel, default_configuration(spec), MeasureSettings{}, std::nullopt, readings).value();
  REQUIRE_MESSAGE(timed.validation.ok(), timed.validation.detail);
  CHECK(timed.measurement.by_graph);
  CHECK(timed.measurement.median_us == 1016.0);
}

TEST_CASE("tensor maps go to devices that encode them, and others refuse the kernel") {
  const Registry registry = with("sham_device");
  const auto least = open(registry, "sham"), device = open(registry, "sham_modern");
  PlannedCopy copy(registry, device->info(), 4);
  TensorMap map;
  map.argument = 0;
  map.axes = 1;
  map.size[0] = 2;
  map.stride_bytes[0] = sizeof(float);
  map.offset_bytes = sizeof(float);
  copy.plan.front().tensor_maps = {map};
  copy.plan.front().arguments = {kTensorMapParameter, 1};
  CHECK(message_of(least->load(copy.compiled, copy.plan, copy.problem), ErrorCode::kLaunch) ==
        "device sham: load: the kernel has tensor maps (TENSOR_MAP), and this device does not encode them");
  const auto kernel = device->load(copy.compiled, copy.plan, copy.problem).value();
  const auto x = holding(*device, {1, 2, 3, 4}), y = holding(*device, {0, 0, 0, 0});
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(held(*device, *y) == std::vector<float>{2, 3, 0, 0});
}

TEST_CASE("passes that repeat go to devices that can, each run with its number and its arguments, and others refuse the kernel") {
  const Registry registry = with("sham_device");
  const auto least = open(registry, "sham"), device = open(registry, "sham_modern");
  PlannedCopy copy(registry, device->info(), 2);
  copy.plan.front().arguments = {0, 1, kRunIndexParameter};
  copy.plan.push_back(copy.plan.front());
  copy.plan.back().arguments = {1, 0, kRunIndexParameter};
  copy.plan.back().exchanged = {{0, 1}, {1, 0}};
  copy.plan.back().run_index = 7;
  CHECK(message_of(least->load(copy.compiled, copy.plan, copy.problem), ErrorCode::kLaunch) ==
        "device sham: load: the kernel has RUN_INDEX or .then, and this device does not repeat passes");
  const auto kernel = device->load(copy.compiled, copy.plan, copy.problem).value();
  const auto x = holding(*device, {1, 2}), y = holding(*device, {0, 0});
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(held(*device, *y) == std::vector<float>{1, 2});
  CHECK(held(*device, *x) == std::vector<float>{8, 2});
}

TEST_CASE("passes overlap on devices that can launch them alone and hold up what is before them, and on no other") {
  const Registry registry = with("sham_device");
  const auto least = open(registry, "sham"), device = open(registry, "sham_modern");
  PlannedCopy copy(registry, device->info(), 2);
  copy.plan.push_back(copy.plan.front());
  copy.plan.front().overlap = false;
  copy.plan.back().overlap = true;
  copy.plan.back().arguments = {1, 2};
  CHECK_FALSE(least->load(copy.compiled, copy.plan, copy.problem).value()->overlaps(1));
  const auto kernel = device->load(copy.compiled, copy.plan, copy.problem).value();
  REQUIRE(kernel->passes() == 2);
  CHECK_FALSE(kernel->overlaps(0));
  CHECK(kernel->overlaps(1));
  const auto x = holding(*device, {1, 2}), y = holding(*device, {3, 4}), z = holding(*device, {0, 0});
  void *from = x->address(), *over = y->address(), *to = z->address();
  void* const arguments[] = {&from, &over, &to};
  REQUIRE(kernel->launch_passes(nullptr, arguments, 1, 1).ok());
  CHECK(held(*device, *z) == std::vector<float>{3, 4});
  REQUIRE(kernel->launch_passes(nullptr, arguments, 0, 2).ok());
  CHECK(held(*device, *z) == std::vector<float>{1, 2});
}

TEST_CASE("what a kernel reads too early is spoiled on devices whose kernels overlap, and what blocks share is painted") {
  const Registry registry = with("sham_device");
  const auto least = open(registry, "sham"), device = open(registry, "sham_modern");
  const auto y = holding(*device, {1, 2});
  const Region region{y->address(), 4};
  REQUIRE(device->invert({&region, 1}, false).ok());
  CHECK(held(*device, *y).front() != 1.0F);
  CHECK(held(*device, *y).back() == 2.0F);
  REQUIRE(device->invert({&region, 1}, true).ok());
  CHECK(held(*device, *y) == std::vector<float>{1, 2});
  CHECK(message_of(device->invert({}, true), ErrorCode::kDevice) == "device sham_modern: invert: nothing to be late with");
  CHECK(message_of(least->invert({&region, 1}, true), ErrorCode::kUnavailable) == "on device sham:0 kernels do not overlap");
  CHECK(least->paint_shared(0xee).ok());
  CHECK(device->paint_shared(0x11).ok());
  CHECK(message_of(device->paint_shared(0xee), ErrorCode::kDevice) == "device sham_modern: paint_shared: sham has no paint of this colour");
}

TEST_CASE("a device's own functions are used where it has them") {
  const Registry registry = with_sham();
  const auto device = open(registry, "sham_whole");
  const auto kernel = load_copy(registry, *device, "block=128", 100);
  CHECK(kernel->resources().registers == 17);
  const auto x = device->allocate(400).value(), y = device->allocate(400).value();
  REQUIRE(device->randomize(x->address(), DType::kF32, 100, 3).ok());
  REQUIRE(device->copy(y->address(), x->address(), 400).ok());
  float first = 0.0F;
  REQUIRE(device->download(std::as_writable_bytes(std::span(&first, 1)), y->address()).ok());
  CHECK(first == 42.0F);
  REQUIRE(device->fill(y->address(), 400, 1).ok());
  CHECK(download(*device, y->address(), 400) == std::vector<std::byte>(400, std::byte{1}));
  const Comparison comparison = device->compare(x->address(), DType::kF32, nullptr, 100, {0.5, 0.0, 0.0}).value();
  CHECK(comparison.elements == 100);
  CHECK(comparison.mismatches == 7);
  CHECK(comparison.max_error == 0.5);
  CHECK(device->checksum(x->address(), 123).value() == 123);
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  const Preparation clear{Preparation::Kind::kZero, to, nullptr, 400};
  const auto samples =
      device->time({.kernel = kernel.get(), .arguments = arguments, .preparations = {&clear, 1}, .samples = 2, .flush_cache = true})
          .value()
          .us;
  CHECK(samples == std::vector<double>{0.1, 1.1});
  CHECK(device->readings().power_w == 5.0);
  CHECK(device->synchronize().ok());
}

TEST_CASE("an energy counter is read where the table has one, and others say that there is none before they are opened") {
  const Registry registry = with("sham_device");
  const Registry::Found meter = registry.device("sham_meter").value(), none = registry.device("sham:0").value();
  CHECK(meter.plugin->check_energy_counter(meter.info).ok());
  CHECK(message_of(none.plugin->check_energy_counter(none.info), ErrorCode::kUnavailable).find("sham:0 has no energy counter") !=
        std::string::npos);
  const auto device = open(registry, "sham_meter");
  const EnergyReading before = device->energy().value();
  CHECK(before.resolution_joules == 1e-3);
  const auto kernel =
      load_copy(registry, *device, "block=64,bytes=16,in_flight=1,resident=0,stages=0,stream_load=false,stream_store=false", 4);
  const auto x = device->allocate(16).value(), y = device->allocate(16).value();
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  for (int run = 0; run < 250; ++run) {  // of 100 us each: its counter steps every 20 ms
    REQUIRE(kernel->launch(nullptr, arguments).ok());
  }
  const EnergyReading after = device->energy().value();
  CHECK(after.seconds - before.seconds == doctest::Approx(0.025).epsilon(0.01));
  CHECK(after.joules - before.joules == doctest::Approx(300.0 * 0.02).epsilon(0.02));
  const auto other = open(registry, "sham:0");
  message_of(other->energy(), ErrorCode::kUnavailable);
}

TEST_CASE("a compiler's answers are per configuration, and its failure is that of those it left out") {
  const Registry registry = with_sham();
  const Registry::Found sham = registry.device("sham").value();
  const KernelSpec& copy = *find_builtin_kernel("copy").value();
  const auto compiler = sham.plugin->compiler(sham.info).value();
  const std::vector<Configuration> two{default_configuration(copy), parse_configuration(copy.parameters, "bytes=4,in_flight=16").value()};
  const auto results = compiler->compile({.spec = &copy, .dtype = DType::kF32, .configurations = two, .reference = false});
  REQUIRE(results.size() == 2);
  CHECK(results[0]->symbols == std::vector<std::string>{"copy<f32, " + cpp_text(copy.parameters, two[0]) + ">"});
  CHECK(results[0]->resources.registers == 16);
  CHECK(message_of(results[1], ErrorCode::kCompile) == "copy.cu: sham has too few registers for 16 accesses in flight");
  const auto reference = compiler->compile({.spec = &copy, .dtype = DType::kF32, .configurations = {}, .reference = true});
  CHECK(reference.at(0)->symbols == std::vector<std::string>{"copy_reference<f32>"});
  const auto refused = compiler->compile({.spec = &copy, .dtype = DType::kF16, .configurations = two, .reference = false});
  REQUIRE(refused.size() == 2);
  CHECK(message_of(refused[1], ErrorCode::kCompile) == "device sham: compile: sham knows one kernel: copy in f32");
}

TEST_CASE("a reference of several passes crosses the border in order, each with its extent and arguments") {
  const Registry registry = with_sham();
  const Registry::Found sham = registry.device("sham").value();
  KernelSpec spec = *find_builtin_kernel("copy").value();
  spec.reference.push_back({.function = "copy_reference_twice", .extent = Expression::constant(2), .arguments = {1}});
  const auto compiler = sham.plugin->compiler(sham.info).value();
  const auto compiled = compiler->compile({.spec = &spec, .dtype = DType::kF32, .configurations = {}, .reference = true}).at(0);
  REQUIRE(compiled.ok());
  CHECK(compiled->symbols == std::vector<std::string>{"copy_reference<f32>", "copy_reference_twice<f32>"});
  const auto device = sham.plugin->open(sham.info).value();
  const Problem problem = make_problem(spec, DType::kF32, {{"n", 3}}).value();
  const auto reference = device->load_reference(*compiled, plan_reference(spec, problem).value(), problem).value();
  const std::vector<float> input{1.0F, 2.0F, 3.0F};
  const auto x = device->allocate(3 * sizeof(float)).value(), y = device->allocate(3 * sizeof(double)).value();
  REQUIRE(device->upload(x->address(), std::as_bytes(std::span(input))).ok());
  void *from = x->address(), *to = y->address();
  void* const arguments[] = {&from, &to};
  REQUIRE(reference->launch(nullptr, arguments).ok());
  std::vector<double> output(3);
  REQUIRE(device->download(std::as_writable_bytes(std::span(output)), to).ok());
  CHECK(output == std::vector<double>{2.0, 4.0, 3.0});
}

TEST_CASE("a call that fails, throws or gives nothing is an error that names the device and the function") {
  const Registry registry = with("failing_device");
  const auto device = open(registry, "failing");
  const auto buffer = device->allocate(1).value();
  std::byte one{};
  CHECK(message_of(device->allocate(100), ErrorCode::kUnavailable) == "device failing: allocate: 64 bytes are there");
  CHECK(message_of(device->upload(buffer->address(), {&one, 1}), ErrorCode::kDevice) == "device failing: upload: upload threw");
  CHECK(message_of(device->download({&one, 1}, buffer->address()), ErrorCode::kDevice) ==
        "device failing: download: it threw something that is not a std::exception");
  CHECK(message_of(device->fill(buffer->address(), 1, 0), ErrorCode::kDevice) == "device failing: upload: upload threw");
  const Registry::Found found = registry.device("failing").value();
  CHECK(message_of(found.plugin->compiler_version(), ErrorCode::kUnavailable) ==
        "device failing: compiler_version: no compiler is installed");
  const KernelSpec& copy = *find_builtin_kernel("copy").value();
  const std::vector<Configuration> two(2, default_configuration(copy));
  const auto results =
      found.plugin->compiler(found.info).value()->compile({.spec = &copy, .dtype = DType::kF32, .configurations = two, .reference = false});
  REQUIRE(results.size() == 2);
  CHECK(message_of(results[0], ErrorCode::kCompile) == "line 1: error");
  CHECK(message_of(results[1], ErrorCode::kCompile) == "device failing: compile: the compiler is gone");
}

TEST_CASE("a device that stalls while it is looked for is missing, and says why") {
  Registry registry = make_builtin_registry();
  REQUIRE(load_plugin(registry, built("stalling_device"), std::chrono::milliseconds(20)).ok());
  CHECK(message_of(registry.device("failing"), ErrorCode::kUnavailable).find("enumerate: it did not return within 20 ms") !=
        std::string::npos);
  CHECK(registry.device("cpu").ok());
}

TEST_CASE("a launch that fails leaves the device; one that loses it says so") {
  const Registry registry = with("failing_device");
  const auto device = open(registry, "failing");
  Compiled compiled;
  compiled.artifact = std::make_shared<const Artifact>(Artifact{"digest", {std::byte{1}}});
  compiled.symbols = {"one"};
  const auto kernel = device->load(compiled, {PassLaunch{}}, {}).value();
  int stream = 0;
  CHECK(message_of(kernel->launch(&stream, {}), ErrorCode::kLaunch) == "device failing: launch: too many threads");
  CHECK(message_of(kernel->launch(nullptr, {}), ErrorCode::kDevice) == "device failing: launch: it failed without a message");
  PassLaunch reference;
  reference.extent = 5;
  CHECK(message_of(device->load_reference(compiled, {reference}, {}), ErrorCode::kPlugin) ==
        "device failing: load: it succeeded but returned null");
  PassLaunch second;
  second.symbol = 1;
  CHECK(message_of(device->load(compiled, {second}, {}), ErrorCode::kLaunch).find("lacks a symbol") != std::string::npos);
}

TEST_CASE("a time that cannot be is an error, not a winner") {
  const Registry registry = with("failing_device");
  const auto device = open(registry, "failing");
  Compiled compiled;
  compiled.artifact = std::make_shared<const Artifact>(Artifact{"digest", {std::byte{1}}});
  compiled.symbols = {"one"};
  const auto kernel = device->load(compiled, {PassLaunch{}}, {}).value();
  TimeRequest request;
  request.kernel = kernel.get();
  request.samples = 1;
  CHECK(device->time(request).value().us == std::vector<double>{1.0});
  request.samples = 2;
  CHECK(message_of(device->time(request), ErrorCode::kPlugin) == "device failing: time: a sample took 0 us");
}

TEST_CASE("a device that is not whole or whose name is taken is refused") {
  const auto refused = [](const char* plugin) {
    Registry registry = make_builtin_registry();
    const std::size_t before = registry.devices().size();
    const std::string message = message_of(load_plugin(registry, built(plugin)), ErrorCode::kPlugin);
    CHECK(registry.devices().size() == before);
    return message;
  };
  CHECK(refused("taken_device").find("a device named 'cpu' is registered already") != std::string::npos);
  CHECK(refused("partial_device").find("device 'failing': its table, of " + std::to_string(sizeof(hone_device)) + " bytes, lacks launch") !=
        std::string::npos);
  CHECK(refused("cut_device")
            .find("device 'failing': its table, of " + std::to_string(offsetof(hone_device, load)) +
                  " bytes, lacks load, unload, launch") != std::string::npos);
  CHECK(refused("torn_graphs_device").find("create_graph, time_graph and destroy_graph: it has some of them, and all are needed") !=
        std::string::npos);
  CHECK(refused("torn_overlap_device").find("launch_passes and invert: it has one of them, and both are needed") != std::string::npos);
  const Registry nameless = with("nameless_device");
  CHECK(message_of(nameless.device("failing"), ErrorCode::kPlugin) ==
        "device failing: enumerate: failing: a property or an entry of the environment lacks a text");
  const Registry registry = with("narrow_device");
  CHECK(message_of(registry.device("failing"), ErrorCode::kPlugin) ==
        "device failing: enumerate: failing lacks the property 'shared_memory_per_multiprocessor'");
}

TEST_CASE("a plugin from before there were devices is loaded, and nothing behind its table is read") {
  Registry registry = make_builtin_registry();
  const auto loaded = load_plugin(registry, built("old_device"));
  REQUIRE(loaded.ok());
  CHECK(loaded->devices.empty());
  CHECK_FALSE(registry.device("failing").ok());
}

TEST_CASE("a table and an info that end after what they must have are taken, and nothing behind their ends is read") {
  const Registry registry = with("short_device");
  const Registry::Found found = registry.device("failing").value();
  CHECK(found.info.environment.at("compiler") == "bad 1.0");  // as of a device that says nothing of it
  CHECK(found.info.environment.size() == 1);
  CHECK_FALSE(found.info.compile_overlaps);
  CHECK(found.plugin->open(found.info).value()->synchronize().ok());
}

TEST_CASE("structs that are longer and lie further apart than this version knows them are read as far as it does") {
  const Registry registry = with("wide_device");
  const Registry::Found found = registry.device("failing").value();
  CHECK(found.info.properties.at("multiprocessors") == 1);
  CHECK(found.info.properties.size() == device_property_names().size());
  CHECK(found.info.environment.at("compiler") == "wide 1.0");
  CHECK(found.info.environment.at("driver") == "2.0");
  CHECK(found.plugin->open(found.info).value()->readings().power_w == 7.0);
  const KernelSpec& copy = *find_builtin_kernel("copy").value();
  const std::vector<Configuration> one{default_configuration(copy)};
  const auto results =
      found.plugin->compiler(found.info).value()->compile({.spec = &copy, .dtype = DType::kF32, .configurations = one, .reference = false});
  REQUIRE(results.at(0).ok());
  CHECK(results[0]->resources.occupancy == 0.75);
}
