#include <fmt/format.h>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {
namespace {

/// The peaks of one device go into the store; what could not be measured.
Result<std::vector<std::string>> measure_peaks_of(const cxxopts::ParseResult& arguments) {
  HONE_ASSIGN(const Registry::Found device, find_device(arguments));
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  const Interrupt interrupt;
  roofline::MeasureRequest request{.device = device, .registry = &registry(), .stop = interrupt.token()};
  if (shows_progress()) {
    request.on_progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
  }
  const auto measured = roofline::measure_peaks(request, *store);
  if (request.on_progress) {
    fmt::print(stderr, "\r\033[K");
  }
  return measured ? Result<std::vector<std::string>>(measured->failures) : measured.error();
}

/// A device with its peaks.
void describe(const DeviceInfo& info, const std::vector<roofline::Peak>& peaks, Json& list, std::vector<std::vector<std::string>>& rows) {
  Json object{{"id", info.id},         {"product", info.product},       {"architecture", info.architecture},
              {"uuid", info.uuid},     {"properties", info.properties}, {"environment", info.environment},
              {"peaks", Json::array()}};
  rows.push_back({info.id, fmt::format("{}{}{}", info.product, info.architecture.empty() ? "" : ", ", info.architecture)});
  for (const roofline::Peak& peak : peaks) {
    object["peaks"].push_back(json(peak));
    rows.push_back({"", fmt::format("{}: {} ({} {}, {})", peak.limit->what, roofline::rate_text(peak), peak.kernel, peak.configuration,
                                    peak.created_at.substr(0, 10))});
  }
  list.push_back(std::move(object));
}

Result<Output> list_devices(const cxxopts::ParseResult& arguments) {
  HONE_TRY(load_plugins(arguments));
  std::vector<std::string> failures;
  if (arguments.count("measure") > 0) {
    HONE_ASSIGN(failures, measure_peaks_of(arguments));
  }
  // What the machine has does not depend on the store.
  Result<std::unique_ptr<Store>> opened = open_existing_store(arguments);
  if (!opened) {
    failures.push_back(fmt::format("peaks: {}", opened.error().message));
  }
  const std::unique_ptr<Store> store = opened ? std::move(opened).value() : nullptr;
  Output output{.json = {{"devices", Json::array()}, {"missing", Json::array()}, {"failures", Json::array()}}, .text = ""};
  std::vector<std::vector<std::string>> rows;
  for (const auto& plugin : registry().devices()) {
    const auto present = plugin->enumerate();
    if (!present) {
      output.json["missing"].push_back({{"plugin", plugin->name()}, {"reason", present.error().message}});
      rows.push_back({std::string(plugin->name()), "not usable: " + present.error().message});
      continue;
    }
    for (const DeviceInfo& info : *present) {
      const Result<std::vector<roofline::Peak>> peaks =
          store == nullptr ? std::vector<roofline::Peak>() : roofline::find_peaks(info, *store);
      if (!peaks) {
        failures.push_back(fmt::format("peaks of {}: {}", info.id, peaks.error().message));
      }
      describe(info, peaks ? *peaks : std::vector<roofline::Peak>(), output.json["devices"], rows);
    }
  }
  output.json["failures"] = failures;
  output.text = table(rows);
  for (const std::string& failure : failures) {
    output.text += fmt::format("not known: {}\n", failure);
  }
  return output;
}

}  // namespace

int devices(int argc, char** argv) {
  cxxopts::Options options("hone devices", "Lists the devices of this machine with their measured peaks, and why others are missing.");
  options.add_options()("measure", "measure what the device can do at most (memory, caches, f32, tensor cores), and keep it in the store")(
      "device", "the one to measure (default: the best present)", cxxopts::value<std::string>(), "ID");
  add_store_option(options);
  add_plugin_option(options);
  return run_verb(options, argc, argv, list_devices);
}

}  // namespace hone::cli
