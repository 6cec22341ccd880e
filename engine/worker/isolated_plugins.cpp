#include "engine/worker/isolated_plugins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/worker/plugin_process.hpp"
#include "engine/worker/remote_runner.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A device whose shared object this process has not opened until it has to.
class IsolatedDevicePlugin final : public DevicePlugin {
 public:
  IsolatedDevicePlugin(std::string name, fs::path file, milliseconds timeout)
      : name_(std::move(name)), file_(std::move(file)), timeout_(timeout) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] fs::path file() const override { return file_; }

  Result<std::vector<DeviceInfo>> enumerate() const override {
    const std::lock_guard lock(mutex_);
    if (!devices_) {
      const auto reply = ask("enumerate", wire::read_devices);
      devices_ = reply ? reply->devices : Result<std::vector<DeviceInfo>>(reply.error());
    }
    return *devices_;
  }
  Result<std::string> compiler_version() const override {
    const auto reply = ask("compiler_version", wire::read_text);
    return reply ? reply->text : Result<std::string>(reply.error());
  }

  Result<void> check_energy_counter(const DeviceInfo& info) const override {
    const auto reply = ask("energy_counter", wire::read_text, {{"info", wire::to_message(info)}});
    return !reply ? Result<void>(reply.error()) : reply->text ? Result<void>() : reply->text.error();
  }

  Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const override {
    HONE_ASSIGN(const DevicePlugin* const opened, here());
    return opened->open(info);
  }
  Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const override {
    HONE_ASSIGN(const DevicePlugin* const opened, here());
    return opened->compiler(info);
  }

 private:
  /// A process of its own for each question: few are asked.
  template <class T>
  Result<T> ask(const char* function, Result<T> (*read)(const wire::Message&), wire::Message more = wire::Message::object()) const {
    const auto failed = [&](const std::string& what) {
      return Error{ErrorCode::kUnavailable, fmt::format("device {}: {}: {}", name_, function, what)};
    };
    HONE_ASSIGN(const std::unique_ptr<PluginProcess> process, PluginProcess::start(file_, timeout_, false));
    more["op"] = function;
    more["device"] = name_;
    std::optional<Result<T>> reply = process->ask<T>(more, read, timeout_);
    if (!reply) {
      return failed(fmt::format("it did not return within {} ms", timeout_.count()));
    }
    if (!*reply) {
      return failed(process->end());
    }
    return *std::move(reply);
  }

  /// The plugin in this process.
  Result<const DevicePlugin*> here() const {
    const std::lock_guard lock(mutex_);
    HONE_TRY(load_plugin(opened_, file_, timeout_));
    for (const auto& plugin : opened_.devices()) {
      if (plugin->name() == name_) {
        return plugin.get();
      }
    }
    return Error{ErrorCode::kPlugin, fmt::format("plugin {}: it has no device '{}' any more", file_.string(), name_)};
  }

  std::string name_;
  fs::path file_;
  milliseconds timeout_;
  mutable std::mutex mutex_;
  mutable std::optional<Result<std::vector<DeviceInfo>>> devices_;
  mutable Registry opened_;
};

std::unique_ptr<StrategyPlugin> isolated_strategy(StrategyDescription description, const std::shared_ptr<PluginPool>& pool) {
  std::string name = description.name;
  std::string label = fmt::format("{} ({})", name, pool->file().string());
  return std::make_unique<StrategyPlugin>(std::move(description), std::move(label),
                                          [pool, name](StrategyContext context, std::vector<double> parameters) {
                                            return make_remote_runner(pool, name, std::move(context), std::move(parameters));
                                          });
}

}  // namespace

Result<LoadedPlugin> load_isolated_plugin(Registry& registry, const fs::path& file, milliseconds timeout) {
  std::error_code missing;
  const fs::path canonical = fs::weakly_canonical(file, missing);
  if (const auto known = registry.files().find(canonical); known != registry.files().end()) {
    return known->second;
  }
  if (!fs::exists(file, missing)) {
    return Error{ErrorCode::kNotFound, fmt::format("plugin {}: there is no such file", file.string())};
  }
  HONE_ASSIGN(std::unique_ptr<PluginProcess> process, PluginProcess::start(file, timeout, true));
  const auto pool = std::make_shared<PluginPool>(fs::absolute(file), timeout);
  PluginParts parts;
  try {
    for (const StrategyDescription& description : process->contents().strategies) {
      parts.strategies.push_back(isolated_strategy(description, pool));
    }
  } catch (const ContractError& error) {
    return Error{ErrorCode::kPlugin, fmt::format("plugin {}: {}", file.string(), error.what())};
  }
  for (const std::string& device : process->contents().devices) {
    parts.devices.push_back(std::make_unique<IsolatedDevicePlugin>(device, fs::absolute(file), timeout));
  }
  pool->give_back(std::move(process));
  return register_plugin(registry, canonical, std::move(parts));
}

std::vector<Error> load_isolated_plugins(Registry& registry, std::string_view folders, milliseconds timeout) {
  std::vector<Error> errors;
  for (const fs::path& file : plugin_files(folders)) {
    if (const auto loaded = load_isolated_plugin(registry, file, timeout); !loaded) {
      errors.push_back(loaded.error());
    }
  }
  return errors;
}

}  // namespace hone
