// What a check does on a device whose streams and memory a test decides: when launches are not checked, and what is copied when.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/launch_checker.hpp"

namespace hone {
namespace {

constexpr std::size_t kCount = 16;

class PlainBuffer final : public Buffer {
 public:
  explicit PlainBuffer(std::size_t bytes) : memory_(bytes) {}
  [[nodiscard]] void* address() const override { return const_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::size_t bytes() const override { return memory_.size(); }

 private:
  std::vector<std::byte> memory_;
};

class PlainSide final : public SideStream {
 public:
  [[nodiscard]] void* handle() const override { return nullptr; }
  Result<void> follow(void* /*stream*/) override { return {}; }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override {
    std::memcpy(destination, source, bytes);
    return {};
  }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override {
    std::memset(destination, pattern, bytes);
    return {};
  }
  Result<void> upload(void* destination, std::span<const std::byte> source) override {
    return copy(destination, source.data(), source.size());
  }
  Result<void> download(std::span<std::byte> destination, const void* source) override {
    return destination.empty() ? Result<void>() : copy(destination.data(), source, destination.size());
  }
};

class CheckedDevice final : public LaunchDevice {
 public:
  bool captures = false, copies = true;
  std::atomic<std::size_t> most{std::size_t{1} << 20};  // bytes of an allocation

  [[nodiscard]] Lane lane_of(void* /*stream*/) const override { return {.stream = 1, .capture = captures ? 1U : 0U}; }
  Result<void> copy_on(void* /*stream*/, void* destination, const void* source, std::size_t bytes) override {
    std::memcpy(destination, source, copies ? bytes : 0);
    return copies ? Result<void>() : Error{ErrorCode::kDevice, "no"};
  }
  Result<std::unique_ptr<SideStream>> side_stream() override { return std::unique_ptr<SideStream>(std::make_unique<PlainSide>()); }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return bytes > most ? Result<std::unique_ptr<Buffer>>(Error{ErrorCode::kUnavailable, "full"})
                        : std::unique_ptr<Buffer>(std::make_unique<PlainBuffer>(bytes));
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<void> upload(void*, std::span<const std::byte>) override { return {}; }
  Result<void> download(std::span<std::byte>, const void*) override { return {}; }
  Result<void> copy(void*, const void*, std::size_t) override { return {}; }
  Result<void> fill(void*, std::size_t, std::uint8_t) override { return {}; }
  Result<void> fill_on(void*, void*, std::size_t, std::uint8_t) override { return {}; }
  Result<void> synchronize() override { return {}; }
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled&, const std::vector<PassLaunch>&, const Problem&) override {
    return Error{ErrorCode::kLaunch, "no kernels"};
  }

 private:
  DeviceInfo info_;
};

/// y = x + `added`.
class AddingKernel final : public LoadedKernel {
 public:
  explicit AddingKernel(float added) : added_(added) {}
  Result<void> launch(void* /*stream*/, std::span<void* const> arguments) const override {
    const auto* const x = *static_cast<const float* const*>(arguments[0]);
    auto* const y = *static_cast<float* const*>(arguments[1]);
    for (std::size_t i = 0; i < kCount; ++i) {
      y[i] = x[i] + added_;
    }
    return {};
  }
  [[nodiscard]] Resources resources() const override { return {}; }

 private:
  float added_;
};

struct CheckFixture {
  std::shared_ptr<CheckedDevice> device = std::make_shared<CheckedDevice>();
  const KernelSpec& spec = **find_builtin_kernel("copy");
  std::mutex mutex;
  std::vector<LaunchCheck> found;
  std::vector<std::string> warnings;
  int rejected = 0;
  bool has_standard = true;
  std::shared_ptr<LaunchChecks> checks = start_launch_checks(request()).value();
  std::shared_ptr<Prepared> served = prepared(0.0F);
  std::vector<float> x = std::vector<float>(kCount, 2.0F), y = std::vector<float>(kCount, 0.0F);

  ~CheckFixture() { checks->stop(); }

  std::shared_ptr<Prepared> prepared(float added) {
    auto made = std::make_shared<Prepared>();
    made->loaded = std::make_shared<AddingKernel>(added);
    made->name = spec.name;
    made->parameters = spec.parameters;
    made->problem = make_problem(spec, DType::kF32, {{"n", kCount}}).value();
    made->choice.configuration = default_configuration(spec);
    made->arguments = launch_arguments(spec, made->problem, made->choice.configuration).value();
    made->passed = {{0, true, kCount * sizeof(float)}, {1, true, kCount * sizeof(float)}};
    made->checked = std::make_unique<CheckedLaunches>();
    made->checked->spec = &spec;
    return made;
  }

  LaunchCheckRequest request() {
    LaunchCheckRequest made;
    made.device = device;
    made.on_check = [this](const LaunchCheck& check) {
      const std::lock_guard lock(mutex);
      found.push_back(check);
    };
    made.standard = [this](const Prepared&) {
      return has_standard ? Result<std::shared_ptr<const Prepared>>(prepared(0.0F)) : Error{ErrorCode::kUnavailable, "no compiler"};
    };
    made.reject = [this](const Prepared&, const LaunchCheck&) { ++rejected; };
    made.warn = [this](const std::string& warning) {
      const std::lock_guard lock(mutex);
      warnings.push_back(warning);
    };
    return made;
  }

  /// Whether it is checked; the application changes its arrays right after the launch.
  bool launch(const std::shared_ptr<Prepared>& kernel, bool fails = false) {
    std::fill(x.begin(), x.end(), 2.0F);
    std::array<void*, 2> addresses{x.data(), y.data()}, values{&addresses[0], &addresses[1]};
    const bool is_checked = checks->begin(kernel, nullptr, values);
    std::ignore = kernel->loaded->launch(nullptr, values).ok();
    if (is_checked) {
      checks->end(nullptr, values, !fails);
    }
    std::fill(x.begin(), x.end(), -1.0F);
    std::fill(y.begin(), y.end(), -1.0F);
    return is_checked;
  }
  template <class Condition>
  void launch_until(const Condition& condition, const std::shared_ptr<Prepared>& kernel) {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (condition()) {
          return;
        }
      }
      launch(kernel);
      std::this_thread::yield();
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(CheckFixture, "a check sees the arrays as the launch did, whatever happens to them later") {
  launch_until([&] { return found.size() >= 3; }, served);
  checks->stop();
  for (const LaunchCheck& check : found) {
    CHECK(check.finding == LaunchCheck::Finding::kAgrees);
  }
  CHECK(rejected == 0);
}

TEST_CASE_FIXTURE(CheckFixture, "what differs is rejected once, and not checked again") {
  const std::shared_ptr<Prepared> wrong = prepared(1.0F);
  launch_until([&] { return !found.empty(); }, wrong);
  CHECK(found.front().finding == LaunchCheck::Finding::kDiffers);
  CHECK(found.front().wrong == kCount);
  CHECK(found.front().actual == 3.0);
  CHECK(found.front().of_default == 2.0);
  CHECK(rejected == 1);
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(launch(wrong));
  }
  CHECK(rejected == 1);
}

TEST_CASE_FIXTURE(CheckFixture, "captured launches are not checked") {
  launch_until([&] { return !found.empty(); }, served);
  device->captures = true;
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(launch(served));
  }
  device->captures = false;
  launch_until([&] { return found.size() >= 2; }, served);
}

TEST_CASE_FIXTURE(CheckFixture, "without memory for copies launches are not checked, until there is some") {
  device->most = 100;
  launch_until([&] { return !warnings.empty(); }, served);
  device->most = 1000;
  launch_until([&] { return !found.empty(); }, served);
  checks->stop();
  CHECK(warnings.front() == "launches of copy f32 n=16 are not checked for now: there is no memory for 768 bytes of copies");
}

TEST_CASE_FIXTURE(CheckFixture, "without the default's code launches are not checked, and a warning says so once") {
  has_standard = false;
  launch_until([&] { return !warnings.empty(); }, served);
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(launch(served));
  }
  CHECK(warnings == std::vector<std::string>{"launches of copy f32 n=16 are not checked: no compiler"});
}

TEST_CASE_FIXTURE(CheckFixture, "a launch that fails is not compared, and the next one is") {
  launch_until([&] { return !found.empty(); }, served);
  while (!launch(served, true)) {
    std::this_thread::yield();
  }
  launch_until([&] { return found.size() >= 2; }, served);
  checks->stop();
  CHECK(found.back().finding == LaunchCheck::Finding::kAgrees);
}

TEST_CASE_FIXTURE(CheckFixture, "a copy that cannot be made costs the check alone") {
  launch_until([&] { return !found.empty(); }, served);
  device->copies = false;
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(launch(served));
  }
  device->copies = true;
  launch_until([&] { return found.size() >= 2; }, served);
}

TEST_CASE_FIXTURE(CheckFixture, "after stop() nothing is checked") {
  launch_until([&] { return !found.empty(); }, served);
  checks->stop();
  CHECK_FALSE(launch(served));
}

}  // namespace hone
