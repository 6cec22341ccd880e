#include "engine/worker/plugin_wire.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "engine/plugin/instance.hpp"
#include "engine/plugin/space_view.hpp"
#include "engine/worker/fields.hpp"

namespace hone::wire {
namespace {

constexpr std::size_t kMostMessage = 512;  // as hone_message

template <class T>
Message pack(std::span<const T> items) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::uint8_t> bytes(items.size_bytes());
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), items.data(), bytes.size());
  }
  return Message::binary(std::move(bytes));
}

template <class T>
std::optional<std::vector<T>> unpack(const Message::binary_t& bytes) {
  if (bytes.size() % sizeof(T) != 0) {
    return std::nullopt;
  }
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) {
    std::memcpy(items.data(), bytes.data(), bytes.size());
  }
  return items;
}

template <class T>
std::vector<T> unpack_or_throw(const Message& bytes) {
  auto items = unpack<T>(bytes.get_binary());
  if (!items) {
    throw ContractError("a list of structs that ends within one");
  }
  return std::move(*items);
}

/// A number that may be infinite: the range of a parameter may have no end.
double read_bound(Fields& fields, const Message& message, const char* key) {
  const auto found = message.is_object() ? message.find(key) : message.end();
  const bool fits = message.is_object() && found != message.end() && found->is_number() && !std::isnan(found->get<double>());
  if (!fits) {
    fields.refuse(key, "is no number");
    return 0.0;
  }
  return found->get<double>();
}

Message to_message(const StrategyParameter& parameter) {
  return {{"name", parameter.name},
          {"help", parameter.help},
          {"type", static_cast<int>(parameter.type)},
          {"default", parameter.default_value},
          {"minimum", parameter.minimum},
          {"maximum", parameter.maximum}};
}

Result<StrategyParameter> read_parameter(const Message& message) {
  Fields fields(message);
  StrategyParameter parameter;
  parameter.name = fields.text("name");
  parameter.help = fields.text("help");
  parameter.type =
      static_cast<StrategyParameter::Type>(fields.integer("type", 0, static_cast<std::int64_t>(StrategyParameter::Type::kFlag)));
  parameter.default_value = read_bound(fields, message, "default");
  parameter.minimum = read_bound(fields, message, "minimum");
  parameter.maximum = read_bound(fields, message, "maximum");
  return fields.error() ? Result<StrategyParameter>(*fields.error()) : Result<StrategyParameter>(std::move(parameter));
}

Message to_message(const StrategyDescription& strategy) {
  Message parameters = Message::array();
  for (const StrategyParameter& parameter : strategy.parameters) {
    parameters.push_back(to_message(parameter));
  }
  return {{"name", strategy.name},
          {"summary", strategy.summary},
          {"source", strategy.source},
          {"weighs", strategy.weighs_expectations},
          {"parameters", std::move(parameters)}};
}

Result<StrategyDescription> read_strategy(const Message& message) {
  Fields fields(message);
  StrategyDescription strategy;
  strategy.name = fields.text("name");
  strategy.summary = fields.text("summary");
  strategy.source = fields.text("source");
  strategy.weighs_expectations = fields.boolean("weighs");
  for (const Message& parameter : fields.array("parameters")) {
    HONE_ASSIGN(StrategyParameter read, read_parameter(parameter));
    strategy.parameters.push_back(std::move(read));
  }
  return fields.error() ? Result<StrategyDescription>(*fields.error()) : Result<StrategyDescription>(std::move(strategy));
}

/// The error that a reply holds instead of an answer.
Result<std::optional<Error>> read_refusal(const Message& message) {
  if (!message.is_object() || !message.contains("error")) {
    return std::optional<Error>();
  }
  Error error;
  HONE_TRY(read_error(message.at("error"), error));
  return std::optional<Error>(std::move(error));
}

}  // namespace

Message to_message(const PluginContents& contents) {
  Message strategies = Message::array();
  for (const StrategyDescription& strategy : contents.strategies) {
    strategies.push_back(to_message(strategy));
  }
  return {{"strategies", std::move(strategies)}, {"devices", contents.devices}};
}

Result<OpenReply> read_open(const Message& message) {
  HONE_ASSIGN(std::optional<Error> refusal, read_refusal(message));
  if (refusal) {
    return OpenReply{*std::move(refusal)};
  }
  Fields fields(message);
  PluginContents contents;
  for (const Message& strategy : fields.array("strategies")) {
    HONE_ASSIGN(StrategyDescription read, read_strategy(strategy));
    contents.strategies.push_back(std::move(read));
  }
  contents.devices = fields.texts("devices");
  return fields.error() ? Result<OpenReply>(*fields.error()) : Result<OpenReply>(OpenReply{std::move(contents)});
}

Message to_message(const std::vector<DeviceInfo>& devices) {
  Message list = Message::array();
  for (const DeviceInfo& device : devices) {
    list.push_back(to_message(device));
  }
  return {{"devices", std::move(list)}};
}

Result<DevicesReply> read_devices(const Message& message) {
  HONE_ASSIGN(std::optional<Error> refusal, read_refusal(message));
  if (refusal) {
    return DevicesReply{*std::move(refusal)};
  }
  Fields fields(message);
  std::vector<DeviceInfo> devices;
  for (const Message& device : fields.array("devices")) {
    HONE_ASSIGN(DeviceInfo read, read_device(device));
    devices.push_back(std::move(read));
  }
  return fields.error() ? Result<DevicesReply>(*fields.error()) : Result<DevicesReply>(DevicesReply{std::move(devices)});
}

Result<TextReply> read_text(const Message& message) {
  HONE_ASSIGN(std::optional<Error> refusal, read_refusal(message));
  if (refusal) {
    return TextReply{*std::move(refusal)};
  }
  Fields fields(message);
  std::string text = fields.text("text");
  return fields.error() ? Result<TextReply>(*fields.error()) : Result<TextReply>(TextReply{std::move(text)});
}

Result<CallReply> read_call(const Message& message) {
  Fields fields(message);
  CallReply reply;
  if (fields.has("failure")) {
    reply.failure = readable(fields.text("failure"), kMostMessage);
  }
  if (fields.has("tell_failure")) {
    reply.tell_failure = readable(fields.text("tell_failure"), kMostMessage);
  }
  if (fields.has("positions")) {
    const Message::binary_t* const bytes = fields.binary("positions");
    const auto positions = bytes != nullptr ? unpack<hone_position>(*bytes) : std::nullopt;
    if (!positions) {
      fields.refuse("positions", "is no list of positions");
    }
    for (const hone_position position : positions.value_or(std::vector<hone_position>())) {
      reply.positions.push_back(plugin_host::from_c(position));
    }
  }
  if (fields.has("model")) {
    const Message::binary_t* const bytes = fields.binary("model");
    if (bytes != nullptr && bytes->size() > plugin_host::kMostModelBytes) {
      fields.refuse("model", "is larger than a model may be");
    } else if (bytes != nullptr) {
      reply.model.assign(bytes->begin(), bytes->end());
    }
  }
  return fields.error() ? Result<CallReply>(*fields.error()) : Result<CallReply>(std::move(reply));
}

Message packed(std::span<const hone_observation> observations) { return pack(observations); }
Message packed(std::span<const hone_position> positions) { return pack(positions); }
Message packed(std::span<const double> numbers) { return pack(numbers); }
Message packed(std::string_view bytes) { return pack(std::span<const char>(bytes)); }

std::vector<hone_observation> unpacked_observations(const Message& bytes) { return unpack_or_throw<hone_observation>(bytes); }
std::vector<hone_position> unpacked_positions(const Message& bytes) { return unpack_or_throw<hone_position>(bytes); }
std::vector<double> unpacked_numbers(const Message& bytes) { return unpack_or_throw<double>(bytes); }
std::string unpacked_text(const Message& bytes) { return {bytes.get_binary().begin(), bytes.get_binary().end()}; }

}  // namespace hone::wire
