#include "plugins/cpu/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "engine/base/digest.hpp"
#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_headers.hpp"
#include "engine/kernel/standard_headers.hpp"
#include "plugins/cpu/cuda_headers.hpp"
#include "plugins/cpu/dynamic_shared.hpp"
#include "plugins/cpu/glue.hpp"
#include "plugins/cpu/process.hpp"
#include "plugins/cpu/temporary_directory.hpp"

namespace hone::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLog = 8000;

/// -fno-gnu-unique and hidden names keep two kernels of one process apart; -fno-strict-aliasing and -ffp-contract=fast are what CUDA's
/// compilers do; local-dynamic makes one look-up of thread-local storage (threadIdx, __shared__) do for a whole function.
std::vector<std::string> command(const HostCompiler& host, bool sanitized, const std::vector<std::string>& macros,
                                 const fs::path& directory, const fs::path& source, const fs::path& object) {
  std::vector<std::string> argv{host.path, "-std=c++20"};
  if (sanitized) {
    for (const char* flag : {"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"}) {
      argv.emplace_back(flag);
    }
  } else {
    argv.emplace_back("-O2");
  }
  for (const char* flag :
       {"-march=native", "-fPIC", "-shared", "-w", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing",
        "-ffp-contract=fast", "-fno-math-errno", "-ftls-model=local-dynamic", "-Wl,--as-needed"}) {
    argv.emplace_back(flag);
  }
  if (host.version.find("clang") == std::string::npos) {
    argv.emplace_back("-fno-gnu-unique");
  }
  argv.insert(argv.end(), macros.begin(), macros.end());
  argv.insert(argv.end(), {"-I", directory.string(), "-I", source.parent_path().string(), "-o", object.string(), source.string()});
  return argv;
}

Result<void> write_file(const fs::path& path, std::string_view text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) {
    return Error{ErrorCode::kIo, fmt::format("cannot write {} for the compiler; is the disk full?", path.string())};
  }
  return {};
}

Result<std::vector<std::byte>> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read what the compiler wrote to {}", path.string())};
  }
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

/// Where the kernel's text goes: as deep below `root` as its includes climb ("../common.h"), so that they stay inside.
fs::path source_directory(const KernelSpec& spec, const fs::path& root) {
  std::ptrdiff_t deepest = 0;
  for (const auto& [included, text] : spec.includes) {
    const fs::path normal = fs::path(included).lexically_normal();
    deepest = std::max(deepest, std::count(normal.begin(), normal.end(), fs::path("..")));
  }
  fs::path directory = root / "kernel";
  for (std::ptrdiff_t i = 0; i < deepest; ++i) {
    directory /= "d";
  }
  return directory;
}

bool mentions(const KernelSpec& spec, std::string_view header) {
  return spec.source.find(header) != std::string::npos ||
         std::ranges::any_of(spec.includes, [&](const auto& include) { return include.second.find(header) != std::string::npos; });
}

fs::path header_path(const fs::path& directory, const std::string& included) {
  return directory / fs::path(included).lexically_normal().relative_path();
}

/// A header that the file and its other headers name differently ("../packet.h", "packet.h") is written once and each further name leads
/// to it: compilers know a file that is included twice by its inode (clang) or by its time (gcc), which copies do not share.
Result<void> write_headers(const KernelSpec& spec, const fs::path& root, const fs::path& directory) {
  for (const KernelHeader& header : kernel_headers()) {
    HONE_TRY(write_file(root / header.name, header.text));
  }
  for (const KernelHeader& header : cuda_headers()) {
    if (mentions(spec, header.name)) {
      HONE_TRY(write_file(root / header.name, header.text));
    }
  }
  for (const auto& [included, text] : spec.includes) {
    const auto same = std::ranges::find(spec.includes, text, &std::pair<std::string, std::string>::second);
    const fs::path path = header_path(directory, included), first = header_path(directory, same->first);
    HONE_TRY(write_file(path, path == first ? with_dynamic_shared(text) : fmt::format("#include \"{}\"\n", first.string())));
  }
  for (const auto& [name, text] : standard_headers(spec, false)) {
    HONE_TRY(write_file(root / name, text));
  }
  return {};
}

/// The compiler's log for people: without our directory's name, cut where it repeats itself for pages.
std::string readable(std::string log, const fs::path& root, const fs::path& directory) {
  for (const std::string& prefix : {directory.string() + "/", root.string() + "/"}) {
    for (std::size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at)) {
      log.erase(at, prefix.size());
    }
  }
  if (log.size() > kMostLog) {
    log.resize(log.rfind('\n', kMostLog) == std::string::npos ? kMostLog : log.rfind('\n', kMostLog));
    log += "\n(the rest of the compiler's log is left out)";
  }
  return log;
}

class CpuCompiler final : public Compiler {
 public:
  CpuCompiler(HostCompiler host, bool sanitized) : host_(std::move(host)), sanitized_(sanitized) { remove_abandoned_directories(); }

  std::vector<Result<Compiled>> compile(const CompileRequest& request) override {
    if (!request.spec->cuda_headers.empty()) {
      return {request.reference ? 1 : request.configurations.size(), Result<Compiled>(only_for_cuda(*request.spec))};
    }
    if (request.reference) {
      return {compile_reference(request)};
    }
    std::vector<std::optional<Result<Compiled>>> outcomes(request.configurations.size());
    for (const auto& [macros, members] : groups(request)) {
      std::vector<Configuration> batch;
      for (const std::size_t member : members) {
        batch.push_back(request.configurations[member]);
      }
      std::vector<Result<Compiled>> results;
      compile_batch(request, macros, batch, results);
      for (std::size_t i = 0; i < members.size(); ++i) {
        outcomes[members[i]] = std::move(results[i]);
      }
    }
    std::vector<Result<Compiled>> all;
    for (std::optional<Result<Compiled>>& outcome : outcomes) {
      all.push_back(std::move(*outcome));
    }
    return all;
  }

 private:
  using Groups = std::map<std::vector<std::string>, std::vector<std::size_t>>;

  static Error only_for_cuda(const KernelSpec& spec) {
    return {ErrorCode::kCompile,
            fmt::format("{} includes <{}>, which only CUDA's compiler can read: this kernel runs on cuda devices, and the cpu "
                        "device cannot run it",
                        spec.file, spec.cuda_headers.front())};
  }

  /// Macros of a command line; other options are those of CUDA's compiler.
  static std::vector<std::string> macros_of(std::vector<std::string> options) {
    std::erase_if(options, [](const std::string& option) { return !is_macro_option(option); });
    return options;
  }

  /// Configurations by their macros: one program has one value of each.
  static Groups groups(const CompileRequest& request) {
    Groups grouped;
    for (std::size_t i = 0; i < request.configurations.size(); ++i) {
      grouped[macros_of(compile_options(*request.spec, request.configurations[i]))].push_back(i);
    }
    return grouped;
  }

  /// An artifact, the compiler's complaint (kCompile), or why it could not run.
  Result<std::shared_ptr<const Artifact>> build(const KernelSpec& spec, const std::vector<std::string>& macros, const std::string& source) {
    HONE_ASSIGN(const TemporaryDirectory temporary, TemporaryDirectory::create());
    const fs::path& root = temporary.path();
    const fs::path directory = source_directory(spec, root);
    const fs::path source_path = directory / "hone_unit.cpp", object_path = root / "hone_unit.so";
    HONE_TRY(write_headers(spec, root, directory));
    HONE_TRY(write_file(source_path, source));
    HONE_ASSIGN(ProcessResult run, run_process(command(host_, sanitized_, macros, root, source_path, object_path)));
    if (!run.succeeded) {
      return Error{ErrorCode::kCompile, readable(std::move(run.output), root, directory)};
    }
    auto artifact = std::make_shared<Artifact>();
    HONE_ASSIGN(artifact->bytes, read_file(object_path));
    artifact->digest = digest(std::span<const std::byte>(artifact->bytes));
    return std::shared_ptr<const Artifact>(std::move(artifact));
  }

  Result<Compiled> compile_reference(const CompileRequest& request) {
    Compiled compiled;
    HONE_ASSIGN(compiled.artifact,
                build(*request.spec, reference_options(*request.spec), reference_source(*request.spec, request.dtype, request.shape)));
    for (std::size_t pass = 0; pass < answer_code(*request.spec, request.shape).passes.size(); ++pass) {
      compiled.symbols.push_back(reference_symbol(pass));
    }
    return compiled;
  }

  /// Appends one result per configuration. What fails is halved until each offender stands alone.
  void compile_batch(const CompileRequest& request, const std::vector<std::string>& macros, std::span<const Configuration> batch,
                     std::vector<Result<Compiled>>& results) {
    if (batch.empty()) {
      return;
    }
    const KernelSpec& spec = *request.spec;
    const auto artifact = build(spec, macros, configurations_source(spec, request.dtype, request.shape, batch));
    if (artifact) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        Compiled compiled;
        compiled.artifact = *artifact;
        for (std::size_t pass = 0; pass < spec.passes.size(); ++pass) {
          compiled.symbols.push_back(can_run(spec, spec.passes[pass], batch[i]) ? pass_symbol(i, pass) : "");
        }
        results.emplace_back(std::move(compiled));
      }
      return;
    }
    const bool about_configurations =
        artifact.error().code == ErrorCode::kCompile && artifact.error().message.find(kGlueName) != std::string::npos;
    if (batch.size() == 1 || !about_configurations) {
      results.insert(results.end(), batch.size(), Result<Compiled>(artifact.error()));
      return;
    }
    compile_batch(request, macros, batch.first(batch.size() / 2), results);
    compile_batch(request, macros, batch.subspan(batch.size() / 2), results);
  }

  HostCompiler host_;
  bool sanitized_;
};

}  // namespace

std::unique_ptr<Compiler> make_compiler(HostCompiler host, bool sanitized) {
  return std::make_unique<CpuCompiler>(std::move(host), sanitized);
}

}  // namespace hone::cpu
