#include "engine/plugin/device_info.hpp"

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
  for (std::size_t i = 0; i < info.property_count; ++i) {
    made.properties[info.properties[i].name] = info.properties[i].value;
  }
  for (std::size_t i = 0; i < info.environment_count; ++i) {
    made.environment[info.environment[i].name] = info.environment[i].text;
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
