#pragma once
// What a process that has a plugin loaded is asked and answers. A plugin can make its process send anything: replies are read as those of
// kernels are.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/plugin/strategy.hpp"
#include "engine/worker/wire.hpp"
#include "hone/plugin.h"

namespace hone::wire {

/// What an opened plugin has to offer.
struct PluginContents {
  std::vector<StrategyDescription> strategies;
  std::vector<std::string> devices;
};
Message to_message(const PluginContents& contents);

struct OpenReply {
  Result<PluginContents> contents;
};
Result<OpenReply> read_open(const Message& message);

Message to_message(const std::vector<DeviceInfo>& devices);
struct DevicesReply {
  Result<std::vector<DeviceInfo>> devices;
};
Result<DevicesReply> read_devices(const Message& message);

struct TextReply {
  Result<std::string> text;
};
Result<TextReply> read_text(const Message& message);

/// Of any function of a strategy.
struct CallReply {
  std::optional<std::string> failure;
  std::optional<std::string> tell_failure;  ///< of what was told before, which is not answered
  std::vector<Count> positions;             ///< of ask
  std::string model;                        ///< of save
};
Result<CallReply> read_call(const Message& message);

/// A list of structs as bytes. Both ends are of one version.
Message packed(std::span<const hone_observation> observations);
Message packed(std::span<const hone_position> positions);
Message packed(std::span<const double> numbers);
Message packed(std::string_view bytes);
/// For the worker; throws ContractError where the bytes are no such list.
std::vector<hone_observation> unpacked_observations(const Message& bytes);
std::vector<hone_position> unpacked_positions(const Message& bytes);
std::vector<double> unpacked_numbers(const Message& bytes);
std::string unpacked_text(const Message& bytes);

}  // namespace hone::wire
