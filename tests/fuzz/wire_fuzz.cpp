// Messages between tuner and workers: CBOR to values. What is read survives being sent again.

#include <array>
#include <cmath>

#include "engine/plugin/instance.hpp"
#include "engine/worker/plugin_wire.hpp"
#include "engine/worker/replies.hpp"
#include "engine/worker/wire.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

namespace wire = hone::wire;
using hone::fuzz::require;

/// What `read` takes, it takes again from what it is sent as, unchanged.
template <class T>
void check(const hone::Result<T>& value, hone::Result<T> (*read)(const wire::Message&)) {
  if (!value) {
    require(!value.error().message.empty(), "an error says what is wrong");
    return;
  }
  const wire::Message sent = wire::to_message(*value);
  const auto bytes = wire::encode(sent);
  const auto received = wire::decode(bytes.data() + wire::kHeaderBytes, bytes.size() - wire::kHeaderBytes);
  require(received.ok(), "what is sent can be received");
  const auto again = read(*received);
  require(again.ok() && wire::to_message(*again) == sent, "a value survives the wire",
          sent.dump(-1, ' ', false, wire::Message::error_handler_t::replace));
}

void check_error(const wire::Message& message) {
  hone::Error error, again;
  if (const auto read = wire::read_error(message, error); !read) {
    require(!read.error().message.empty(), "an error says what is wrong");
    return;
  }
  const wire::Message sent = wire::to_message(error);
  require(wire::read_error(sent, again).ok() && wire::to_message(again) == sent, "an error survives the wire");
}

hone::Result<hone::Trial> read_only_trial(const wire::Message& message) {
  hone::Trial trial;
  HONE_TRY(wire::fill_from(message, trial));
  return trial;
}

void check_replies(const wire::Message& message) {
  static_cast<void>(wire::is_stage(message));
  check(wire::read_stage(message), wire::read_stage);
  static_cast<void>(wire::read_done(message).ok());
  static_cast<void>(wire::read_trial(message).ok());
  static_cast<void>(wire::read_compile(message).ok());
  static_cast<void>(wire::read_reading(message).ok());
  static_cast<void>(wire::read_open(message).ok());
  static_cast<void>(wire::read_devices(message).ok());
  static_cast<void>(wire::read_text(message).ok());
  if (const auto call = wire::read_call(message)) {
    require(call->model.size() <= hone::plugin_host::kMostModelBytes, "what a strategy keeps has a bound");
  }
  if (const auto finals = wire::read_finals(message)) {
    for (const hone::Trial& trial : finals->trials) {
      require(std::isfinite(trial.measurement.median_us), "the median of a finalist is a number");
    }
  }
}

constexpr std::array<std::string_view, 75> kWords{"id",
                                                  "plugin",
                                                  "product",
                                                  "uuid",
                                                  "architecture",
                                                  "mig",
                                                  "properties",
                                                  "environment",
                                                  "overlaps",
                                                  "dtype",
                                                  "shape",
                                                  "f32",
                                                  "rows=512,cols=2048",
                                                  "symbols",
                                                  "resources",
                                                  "digest",
                                                  "bytes",
                                                  "registers",
                                                  "spill",
                                                  "stack",
                                                  "shared",
                                                  "occupancy",
                                                  "code",
                                                  "message",
                                                  "warmup",
                                                  "race_samples",
                                                  "race_margin",
                                                  "minimum",
                                                  "maximum",
                                                  "ci",
                                                  "seconds",
                                                  "flush",
                                                  "graph_below",
                                                  "samples",
                                                  "median",
                                                  "low",
                                                  "high",
                                                  "raced_out",
                                                  "by_graph",
                                                  "outcome",
                                                  "ok",
                                                  "wrong_result",
                                                  "too_slow",
                                                  "detail",
                                                  "measurement",
                                                  "readings",
                                                  "validate",
                                                  "time",
                                                  "overhead",
                                                  "input_seed",
                                                  "max_error",
                                                  "trial",
                                                  "results",
                                                  "error",
                                                  "fatal",
                                                  "stage",
                                                  "within",
                                                  "expected",
                                                  "finalist",
                                                  "complete",
                                                  "spec",
                                                  "strategies",
                                                  "devices",
                                                  "name",
                                                  "summary",
                                                  "source",
                                                  "weighs",
                                                  "parameters",
                                                  "help",
                                                  "type",
                                                  "default",
                                                  "text",
                                                  "failure",
                                                  "positions",
                                                  "model"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = wire::decode(data, size);
  if (!message) {
    require(!message.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  check(wire::read_device(*message), wire::read_device);
  check(wire::read_problem(*message), wire::read_problem);
  check(wire::read_compiled(*message), wire::read_compiled);
  check_error(*message);
  check(wire::read_settings(*message), wire::read_settings);
  check(wire::read_incumbent(*message), wire::read_incumbent);
  check(read_only_trial(*message), read_only_trial);
  check_replies(*message);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  auto message = wire::decode(data, size);
  if (!message || random.one_in(4)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  hone::fuzz::mutate_json(random, kWords, *message);
  const auto bytes = nlohmann::json::to_cbor(*message);
  const std::size_t made = hone::fuzz::put(hone::fuzz::text_of(bytes.data(), bytes.size()), data, max_size);
  return made != 0 ? made : LLVMFuzzerMutate(data, size, max_size);
}
