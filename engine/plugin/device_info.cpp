#include "engine/plugin/device_info.hpp"

#include <algorithm>
#include <span>

#include "engine/plugin/device_table.hpp"

namespace hone::plugin_host {

Result<DeviceInfo> from_c(const hone_device& table, const hone_device_info& info) {
  const auto broken = [&](const std::string& what) { return device_error(table, "enumerate", ErrorCode::kPlugin, what); };
  if (info.struct_size < sizeof(hone_device_info)) {
    return broken("its hone_device_info is shorter than this version's");
  }
  if (info.id == nullptr || info.product == nullptr || info.uuid == nullptr || info.architecture == nullptr) {
    return broken("a device lacks a text");
  }
  DeviceInfo made;
  made.id = info.id;
  made.plugin = table.name;
  made.product = info.product;
  made.uuid = info.uuid;
  made.architecture = info.architecture;
  made.compile_overlaps = info.compile_overlaps != 0;
  if (made.id != made.plugin && !made.id.starts_with(made.plugin + ":")) {
    return broken(fmt::format("the id '{}' is neither '{}' nor '{}:' and a number", made.id, made.plugin, made.plugin));
  }
  const std::span properties(info.properties, info.properties == nullptr ? 0 : info.property_count);
  const std::span environment(info.environment, info.environment == nullptr ? 0 : info.environment_count);
  if (std::ranges::any_of(properties, [](const auto& property) { return property.name == nullptr; }) ||
      std::ranges::any_of(environment, [](const auto& entry) { return entry.name == nullptr || entry.text == nullptr; })) {
    return broken(fmt::format("{}: a property or an entry of the environment lacks a text", made.id));
  }
  for (const auto& property : properties) {
    made.properties[property.name] = property.value;
  }
  for (const auto& entry : environment) {
    made.environment[entry.name] = entry.text;
  }
  for (const std::string_view property : device_property_names()) {
    if (!made.properties.contains(property)) {
      return broken(fmt::format("{} lacks the property '{}'", made.id, property));
    }
  }
  return made;
}

InfoView::InfoView(const DeviceInfo& info) {
  for (const auto& [name, value] : info.properties) {
    properties_.push_back({name.c_str(), value});
  }
  for (const auto& [name, text] : info.environment) {
    environment_.push_back({name.c_str(), text.c_str()});
  }
  info_ = {.struct_size = sizeof(hone_device_info),
           .id = info.id.c_str(),
           .product = info.product.c_str(),
           .uuid = info.uuid.c_str(),
           .architecture = info.architecture.c_str(),
           .properties = properties_.data(),
           .property_count = properties_.size(),
           .environment = environment_.data(),
           .environment_count = environment_.size(),
           .compile_overlaps = info.compile_overlaps ? 1 : 0};
}

}  // namespace hone::plugin_host
