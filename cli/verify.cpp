#include "engine/tune/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iterator>
#include <set>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/store_server.hpp"
#include "engine/worker/worker.hpp"

namespace hone::cli {
namespace {

constexpr std::array kStandings{Standing::kOk,     Standing::kStale,     Standing::kWrong,
                                Standing::kSlower, Standing::kUntrusted, Standing::kNotCheckable};

bool bad(const Verified& one) { return one.standing != Standing::kOk && one.standing != Standing::kNotCheckable; }

/// The sources that are known, and which kernel is asked for.
Result<VerifyRequest> make_verify_request(const cxxopts::ParseResult& arguments) {
  VerifyRequest request;
  for (const KernelSpec* const kernel : builtin_kernels()) {
    request.specs.push_back(*kernel);
  }
  std::vector<std::string> files =
      arguments.count("kernel") > 0 ? arguments["kernel"].as<std::vector<std::string>>() : std::vector<std::string>();
  const bool all = arguments.count("all") > 0, one = arguments.count("name") > 0;
  if (all == one) {
    return Error{ErrorCode::kInvalidArgument, "which records? Give a kernel, or --all"};
  }
  if (one) {
    request.kernel = arguments["name"].as<std::string>();
    const bool is_library = library_named(request.kernel) != nullptr;
    if (std::optional<Error> operation = is_library ? std::nullopt : not_an_operation(request.kernel)) {
      return *std::move(operation);
    }
    if (is_file(request.kernel) && std::ranges::find(files, request.kernel) == files.end()) {
      files.push_back(request.kernel);
    }
  }
  HONE_ASSIGN(const std::deque<KernelSpec> own, read_files(files, arguments));
  for (std::size_t i = 0; i < own.size(); ++i) {
    request.kernel = files[i] == request.kernel ? own[i].name : request.kernel;
    request.specs.push_back(own[i]);
  }
  HONE_ASSIGN(request.device,
              arguments.count("device") == 0 ? registry().best_device() : registry().device(arguments["device"].as<std::string>()));
  for (const LibraryKernel* const library : request.device.plugin->libraries()) {
    if (Result<KernelSpec> spec = library_spec(*library)) {
      request.specs.push_back(*std::move(spec));
    }
  }
  request.rivals = arguments["rivals"].as<std::uint16_t>();
  request.seed = arguments["seed"].as<std::uint64_t>();
  HONE_ASSIGN(request.measure, find_timing(arguments));
  request.update = arguments.count("update") > 0;
  if (shows_progress()) {
    request.on_progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
  }
  return request;
}

/// A misspelt name must not pass for a kernel whose records are all right. A kernel that is there may have no record yet.
Result<void> check_is_there(const VerifyRequest& request, const std::vector<SessionInfo>& sessions) {
  const std::string& kernel = request.kernel;
  const bool is_there = kernel.empty() || library_named(kernel) != nullptr ||
                        std::ranges::find(request.specs, kernel, &KernelSpec::name) != request.specs.end() ||
                        std::ranges::find(sessions, kernel, &SessionInfo::kernel) != sessions.end();
  return is_there ? Result<void>()
                  : Error{ErrorCode::kNotFound, fmt::format("there is no record of '{}' (hone records --all lists them)", kernel)};
}

/// Of kernels whose source is not known otherwise: the file in this folder that is called after the kernel, if there is one that can be
/// read.
void add_files_here(const cxxopts::ParseResult& arguments, const std::vector<SessionInfo>& sessions, VerifyRequest& request) {
  std::set<std::string> tried;
  std::vector<KernelSpec> read;
  for (const SessionInfo& session : sessions) {
    const bool known = std::ranges::any_of(
        request.specs, [&](const KernelSpec& spec) { return spec.name == session.kernel && spec.source_hash == session.source_hash; });
    std::error_code failed;
    const std::filesystem::path file = session.kernel + ".cu";
    if (known || !tried.insert(session.kernel).second || !std::filesystem::exists(file, failed)) {
      continue;
    }
    if (Result<KernelSpec> spec = read_kernel_file_in_worker(file, find_flags(arguments))) {
      read.push_back(*std::move(spec));
    }
  }
  std::vector<const KernelSpec*> all;  // of which one may define what another implements
  for (const std::vector<KernelSpec>* const some : {&read, &request.specs}) {
    std::ranges::transform(*some, std::back_inserter(all), [](const KernelSpec& spec) { return &spec; });
  }
  std::vector<KernelSpec> found;
  for (const KernelSpec& spec : read) {
    if (Result<KernelSpec> own = as_implementation(spec, all)) {
      found.push_back(*std::move(own));
    }
  }
  std::ranges::move(found, std::back_inserter(request.specs));
}

Json verified_json(const Verified& one) {
  Json stale = Json::array();
  for (const Staleness& change : one.stale) {
    stale.push_back({{"what", change.what}, {"then", change.then}, {"now", change.now}});
  }
  Json object{{"kernel", one.kernel},
              {"product", one.product},
              {"dtype", name(one.problem.dtype)},
              {"shape", json(one.problem.shape)},
              {"standing", name(one.standing)},
              {"detail", one.detail},
              {"stale", stale},
              {"recorded_us", one.recorded_us ? Json(*one.recorded_us) : Json()},
              {"time_us", one.now ? Json(one.now->median_us) : Json()},
              {"ci95_us", one.now ? Json{one.now->ci95_low_us, one.now->ci95_high_us} : Json()},
              {"default_us", one.default_us ? Json(*one.default_us) : Json()},
              {"better", nullptr},
              {"updated", one.updated}};
  if (one.spec != nullptr && one.configuration) {
    object["config"] = json(one.spec->parameters, *one.configuration);
  }
  if (one.better) {
    const Measurement& measured = one.better->measurement;
    object["better"] = {{"config", json(one.spec->parameters, one.better->configuration)},
                        {"time_us", measured.median_us},
                        {"ci95_us", {measured.ci95_low_us, measured.ci95_high_us}}};
  }
  return object;
}

std::string verified_text(const std::vector<Verified>& all) {
  std::vector<std::vector<std::string>> rows;
  for (const Verified& one : all) {
    const std::string times =
        one.now ? fmt::format("{} (was {})", duration(one.now->median_us), duration(one.recorded_us.value_or(0.0))) : "";
    rows.push_back({std::string(name(one.standing)), one.kernel, fmt::format("{} {}", name(one.problem.dtype), text(one.problem.shape)),
                    times, one.spec != nullptr && one.configuration ? text(one.spec->parameters, *one.configuration) : ""});
    if (!one.detail.empty()) {
      rows.back().back() += fmt::format("\n    {}", one.detail);
    }
    if (one.updated) {
      rows.back().back() += "\n    the record is replaced";
    }
  }
  std::string lines = table(rows);
  std::string counts;
  for (const Standing standing : kStandings) {
    if (const auto count = std::ranges::count(all, standing, &Verified::standing); count > 0) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, name(standing));
    }
  }
  return lines + fmt::format("{} records{}{}\n", all.size(), counts.empty() ? "" : ": ", counts);
}

}  // namespace

int verify(int argc, char** argv) {
  cxxopts::Options options(
      "hone verify",
      "Validates the code of a store's records again and times it beside the default and the next best. Exit code 1 if a\nrecord is stale, "
      "wrong, no longer the fastest, or its code is not trusted. Changes nothing without --update.");
  options.add_options()("name", "a kernel", cxxopts::value<std::string>())("all", "records of every kernel")(
      "kernel", "the file of a kernel that is not built in (repeatable). NAME.cu in this folder is found without it",
      cxxopts::value<std::vector<std::string>>(),
      "FILE")("device", "cuda:0, cpu, ... (default: the best present)", cxxopts::value<std::string>(), "ID")(
      "rivals", "number of the fastest other trials of a problem to time with the record",
      cxxopts::value<std::uint16_t>()->default_value("3"),
      "N")("seed", "of the inputs", cxxopts::value<std::uint64_t>()->default_value("0"), "N")(
      "update", "replace slower records by the faster configuration, and stale ones by their new measurement");
  add_store_option(options);
  add_timing_options(options);
  add_plugin_option(options);
  add_flag_options(options);
  options.parse_positional({"name"});
  options.positional_help("[KERNEL]\n\n  KERNEL: a built-in kernel, or the path of a kernel file");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(VerifyRequest request, make_verify_request(arguments));
    HONE_ASSIGN(const auto readable, open_to_read(store_path(arguments)));
    HONE_ASSIGN(const std::vector<SessionInfo> sessions, readable->sessions());
    HONE_TRY(check_is_there(request, sessions));
    add_files_here(arguments, sessions, request);
    std::unique_ptr<Store> writable;
    if (request.update) {
      HONE_ASSIGN(writable, open_store(store_path(arguments), StoreMode::kReadWrite));
    }
    const Interrupt interrupt;
    request.stop = interrupt.token();
    const auto verified = hone::verify(request, writable ? *writable : *readable);
    if (request.on_progress) {
      fmt::print(stderr, "\r\033[K");
    }
    if (!verified) {
      return verified.error();
    }
    Json object{{"device", request.device.info.id},
                {"product", request.device.info.product},
                {"store", store_name(store_path(arguments))},
                {"bad", std::ranges::count_if(*verified, bad)},
                {"records", Json::array()}};
    for (const Verified& one : *verified) {
      object["records"].push_back(verified_json(one));
    }
    return Output{std::move(object), verified_text(*verified), std::ranges::any_of(*verified, bad) ? 1 : 0};
  });
}

}  // namespace hone::cli
