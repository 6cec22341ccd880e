#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {

int trust(int argc, char** argv) {
  cxxopts::Options options("hone trust",
                           "Allows launching the compiled code of a store from elsewhere from now on. Code runs with all your\nrights, so "
                           "trust stores as you would programs (docs/trust.md). Without a path: lists the stores that you trust.");
  options.add_options()("path", "the store", cxxopts::value<std::string>(), "FILE")("remove", "withdraw the trust");
  options.parse_positional({"path"});
  options.positional_help("[FILE]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    const bool remove = arguments.count("remove") > 0;
    if (arguments.count("path") == 0 && remove) {
      return Error{ErrorCode::kInvalidArgument, "which store? hone trust FILE --remove"};
    }
    if (arguments.count("path") > 0) {
      HONE_TRY(trust_store(arguments["path"].as<std::string>(), !remove));
    }
    HONE_ASSIGN(const std::vector<std::filesystem::path> paths, trusted_stores());
    Output output{.json = {{"trusted", Json::array()}}, .text = paths.empty() ? "only your own\n" : ""};
    for (const std::filesystem::path& path : paths) {
      output.json["trusted"].push_back(path.string());
      output.text += path.string() + "\n";
    }
    return output;
  });
}

}  // namespace hone::cli
