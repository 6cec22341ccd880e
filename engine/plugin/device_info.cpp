#include "engine/plugin/device_info.hpp"

#include <algorithm>

#include "engine/plugin/device_table.hpp"
#include "engine/plugin/table.hpp"

namespace hone::plugin_host {

namespace {

Result<DeviceInfo> read(const hone_device& table, const hone_device_info& info) {
  const auto broken = [&](const std::string& what) { return device_error(table, "enumerate", ErrorCode::kPlugin, what); };
  const std::string missing = lacking(info.struct_size, {{"id", info.id != nullptr},
                                                         {"product", info.product != nullptr},
                                                         {"architecture", info.architecture != nullptr},
                                                         {"properties", info.properties != nullptr}});
  if (!missing.empty()) {
    return broken("of a hone_device_info: " + missing);
  }
  DeviceInfo made;
  made.id = info.id;
  made.plugin = table.name;
  made.product = info.product;
  made.uuid = info.uuid != nullptr ? info.uuid : "";
  made.architecture = info.architecture;
  made.compile_overlaps = info.compile_overlaps != 0;
  if (made.id != made.plugin && !made.id.starts_with(made.plugin + ":")) {
    return broken(fmt::format("the id '{}' is neither '{}' nor '{}:' and a number", made.id, made.plugin, made.plugin));
  }
  const auto properties = elements(info.properties, info.property_count, info.property_stride, "property_stride");
  const auto environment = elements(info.environment, info.environment_count, info.environment_stride, "environment_stride");
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

}  // namespace

Result<DeviceInfo> from_c(const hone_device& table, const hone_device_info& info) {
  try {
    return read(table, normalized(info));
  } catch (const ContractError& error) {
    return device_error(table, "enumerate", ErrorCode::kPlugin, error.what());
  }
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
           .compile_overlaps = info.compile_overlaps ? 1 : 0,
           .property_stride = sizeof(hone_property),
           .environment_stride = sizeof(hone_text)};
}

}  // namespace hone::plugin_host
