#include "engine/plugin/device_plugin.hpp"

#include <optional>

#include "engine/plugin/abi_compiler.hpp"
#include "engine/plugin/abi_device.hpp"
#include "engine/plugin/call_with_timeout.hpp"
#include "engine/plugin/device_info.hpp"
#include "engine/plugin/device_table.hpp"
#include "engine/plugin/table.hpp"

namespace hone::plugin_host {
namespace {

class AbiDevicePlugin final : public DevicePlugin {
 public:
  /// What it opens keeps a copy of the table: it may outlive the registry.
  AbiDevicePlugin(const hone_device& table, std::string version, std::filesystem::path file,
                  std::optional<std::chrono::milliseconds> timeout)
      : table_(table), version_(std::move(version)), file_(std::move(file)), timeout_(timeout) {}

  [[nodiscard]] std::string_view name() const override { return table_.name; }
  [[nodiscard]] std::filesystem::path file() const override { return file_; }

  /// With a timeout on a thread of its own, which is left behind where it stalls: with a copy of all that it uses.
  Result<std::vector<DeviceInfo>> enumerate() const override {
    using Devices = Result<std::vector<DeviceInfo>>;
    if (!timeout_) {
      return enumerate_here();
    }
    std::optional<Devices> found = CallWithTimeout::ask<Devices>([self = *this] { return self.enumerate_here(); }, *timeout_);
    return found ? *std::move(found)
                 : device_error(table_, "enumerate", ErrorCode::kUnavailable,
                                fmt::format("it did not return within {} ms", timeout_->count()));
  }
  Result<std::string> compiler_version() const override {
    hone_message version{};
    HONE_TRY(call(table_, "compiler_version", ErrorCode::kUnavailable, [&](hone_message* message) {
      const std::int32_t status = table_.compiler_version(&version);
      *message = version;
      return status;
    }));
    version.text[sizeof(version.text) - 1] = '\0';
    return std::string(version.text);
  }

  Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const override { return open_device(table_, info); }
  Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const override { return create_compiler(table_, info); }
  Result<void> check_energy_counter(const DeviceInfo& info) const override {
    return table_.energy != nullptr ? Result<void>() : DevicePlugin::check_energy_counter(info);
  }

 private:
  [[nodiscard]] Result<std::vector<DeviceInfo>> enumerate_here() const {
    struct Found {
      const AbiDevicePlugin* plugin;
      std::vector<DeviceInfo> infos;
      std::optional<Error> broken;
    } found{this, {}, {}};
    const auto add = [](void* sink, const hone_device_info* info) {
      Found& to = *static_cast<Found*>(sink);
      Result<DeviceInfo> made = from_c(to.plugin->table_, *info);
      if (!made) {
        to.broken = made.error();
        return;
      }
      // Compiled code is kept by it: another version of the plugin must not be handed what this one made.
      made->environment.emplace("compiler", to.plugin->version_);
      to.infos.push_back(std::move(made).value());
    };
    HONE_TRY(
        call(table_, "enumerate", ErrorCode::kUnavailable, [&](hone_message* message) { return table_.enumerate(&found, add, message); }));
    if (found.broken) {
      return *found.broken;
    }
    if (found.infos.empty()) {
      return device_error(table_, "enumerate", ErrorCode::kUnavailable, "it found no device and gave no reason");
    }
    return std::move(found.infos);
  }

  hone_device table_;
  std::string version_;
  std::filesystem::path file_;
  std::optional<std::chrono::milliseconds> timeout_;
};

}  // namespace

std::unique_ptr<DevicePlugin> make_device_plugin(const hone_device* table, std::string version, std::filesystem::path file,
                                                 std::optional<std::chrono::milliseconds> timeout) {
  const hone_device known = normalized(*table);
  const auto require = [&](bool met, const std::string& what) {
    if (!met) {
      throw ContractError(fmt::format("device '{}': {}", known.name != nullptr ? known.name : "", what));
    }
  };
  const std::string missing = lacking(table->struct_size, {{"name", known.name != nullptr && known.name[0] != '\0'},
                                                           {"enumerate", known.enumerate != nullptr},
                                                           {"compiler_version", known.compiler_version != nullptr},
                                                           {"create_compiler", known.create_compiler != nullptr},
                                                           {"compile", known.compile != nullptr},
                                                           {"destroy_compiler", known.destroy_compiler != nullptr},
                                                           {"open", known.open != nullptr},
                                                           {"close", known.close != nullptr},
                                                           {"allocate", known.allocate != nullptr},
                                                           {"release", known.release != nullptr},
                                                           {"upload", known.upload != nullptr},
                                                           {"download", known.download != nullptr},
                                                           {"load", known.load != nullptr},
                                                           {"unload", known.unload != nullptr},
                                                           {"launch", known.launch != nullptr}});
  require(missing.empty(), missing);
  const bool no_graphs = known.create_graph == nullptr && known.time_graph == nullptr && known.destroy_graph == nullptr;
  require(no_graphs || (known.create_graph != nullptr && known.time_graph != nullptr && known.destroy_graph != nullptr),
          "create_graph, time_graph and destroy_graph: it has some of them, and all are needed");
  require((known.launch_passes == nullptr) == (known.invert == nullptr),
          "launch_passes and invert: it has one of them, and both are needed");
  require(std::string_view(known.name).find(':') == std::string_view::npos,
          "its name contains a colon, which separates the name from the number in a device's id");
  require(known.compiled_size == 0 || known.compiled_size >= kCompiledOfAbi2,
          fmt::format("its compiled_size is {}: at least {} is needed", known.compiled_size, kCompiledOfAbi2));
  return std::make_unique<AbiDevicePlugin>(known, std::move(version), std::move(file), timeout);
}

}  // namespace hone::plugin_host
