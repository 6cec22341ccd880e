#include "plugins/cuda/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plugins/cuda/library_paths.hpp"
#include "plugins/cuda/shared_library.hpp"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

// The real folder of the opened library: wheels and toolkits keep their headers beside it.
fs::path folder_of(const void* symbol) {
  Dl_info found{};
  if (dladdr(symbol, &found) == 0 || found.dli_fname == nullptr) {
    return {};
  }
  std::error_code ignored;
  return fs::weakly_canonical(found.dli_fname, ignored).parent_path();
}

// The folders of HONE_CUDA_INCLUDE, parted by colons as in PATH.
std::vector<fs::path> named_folders() {
  std::vector<fs::path> folders;
  const std::string named = environment("HONE_CUDA_INCLUDE");
  for (std::size_t at = 0; at < named.size();) {
    const std::size_t end = std::min(named.find(':', at), named.size());
    if (end > at) {
      folders.emplace_back(named.substr(at, end - at));
    }
    at = end + 1;
  }
  return folders;
}

// Where CUDA's headers, CCCL's and CUTLASS's may be, first choice first.
std::vector<fs::path> include_candidates(const fs::path& library_folder) {
  std::vector<fs::path> candidates;
  if (!library_folder.empty()) {
    candidates = {library_folder / "../include", library_folder / "../../../include", library_folder / "../../cuda_runtime/include"};
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string toolkit = environment(variable); !toolkit.empty()) {
      candidates.push_back(fs::path(toolkit) / "include");
    }
  }
  candidates.emplace_back("/usr/local/cuda/include");
  for (const fs::path& site : site_packages()) {
    for (const fs::path& wheel : folders(site / "nvidia", "cu")) {  // cu13, cuda_runtime, cuda_cccl, ...
      candidates.push_back(wheel / "include");
    }
    candidates.push_back(site / "cutlass_library/source/include");
  }
  return candidates;
}

// A toolkit has all of these; wheels have one or some.
std::vector<std::string> toolkit_includes(const fs::path& library_folder) {
  std::vector<std::string> includes;
  std::error_code ignored;
  const auto add = [&](const fs::path& folder) {
    if (const std::string option = "-I" + folder.string(); std::find(includes.begin(), includes.end(), option) == includes.end()) {
      includes.push_back(option);
    }
  };
  for (const fs::path& folder : named_folders()) {
    add(folder);
    if (fs::exists(folder / "cccl", ignored)) {
      add(folder / "cccl");
    }
  }
  const std::vector<fs::path> candidates = include_candidates(library_folder);
  // mma.h of one folder includes crt/mma.h, which may be in another; CUTLASS asks a toolkit of CUDA 13 for cccl/cuda/...
  for (const char* header : {"cuda_fp16.h", "cooperative_groups.h", "crt/mma.h", "cub/cub.cuh", "cccl/cub/cub.cuh", "cute/tensor.hpp"}) {
    const auto has = [&](const fs::path& folder) { return fs::exists(folder / header, ignored); };
    const bool named = std::ranges::any_of(includes, [&](const std::string& option) { return has(option.substr(2)); });
    for (auto candidate = candidates.begin(); candidate != candidates.end() && !named; ++candidate) {
      // /usr/include holds the host's own headers, which NVRTC cannot read.
      const fs::path folder = fs::weakly_canonical(*candidate, ignored);
      if (folder == "/usr/include" || (!has(folder) && !has(folder / "cccl"))) {
        continue;
      }
      add(has(folder) ? folder : folder / "cccl");
      break;
    }
  }
  return includes;
}

// NVRTC opens its builtins by their bare name, which the loader finds for an installed toolkit but not for a wheel. Once the library
// beside NVRTC is in the process, that name resolves to it.
void open_builtins(const fs::path& library_folder, int version) {
  const fs::path beside = library_folder / fmt::format("libnvrtc-builtins.so.{}.{}", version / 100, version % 100);
  std::error_code ignored;
  if (fs::exists(beside, ignored)) {
    static_cast<void>(dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL));
  }
}

Error not_found(const SharedLibrary& library) {
  const std::string named = environment("HONE_NVRTC");
  if (!named.empty()) {
    return Error{ErrorCode::kUnavailable, fmt::format("no NVRTC: HONE_NVRTC is '{}', which cannot be opened: {}", named, library.reason())};
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("no NVRTC: {}. Kernels cannot be compiled for cuda devices; install the CUDA toolkit (12.0 or later) or "
                           "`pip install nvidia-cuda-nvrtc`, or set HONE_NVRTC to the path of libnvrtc.so",
                           library.reason())};
}

Result<Nvrtc> open_nvrtc() {
  SharedLibrary library(nvrtc_candidates());
  if (!library.opened()) {
    return not_found(library);
  }
  Nvrtc opened;
  opened.path = library.name();
  library.bind(opened.api.get_error_string, "nvrtcGetErrorString");
  library.bind(opened.api.version, "nvrtcVersion");
  library.bind(opened.api.create_program, "nvrtcCreateProgram");
  library.bind(opened.api.destroy_program, "nvrtcDestroyProgram");
  library.bind(opened.api.compile_program, "nvrtcCompileProgram");
  library.bind(opened.api.get_ptx_size, "nvrtcGetPTXSize");
  library.bind(opened.api.get_ptx, "nvrtcGetPTX");
  library.bind(opened.api.get_cubin_size, "nvrtcGetCUBINSize");
  library.bind(opened.api.get_cubin, "nvrtcGetCUBIN");
  library.bind(opened.api.get_program_log_size, "nvrtcGetProgramLogSize");
  library.bind(opened.api.get_program_log, "nvrtcGetProgramLog");
  library.bind(opened.api.add_name_expression, "nvrtcAddNameExpression");
  library.bind(opened.api.get_lowered_name, "nvrtcGetLoweredName");
  int major = 0, minor = 0;
  if (!library.missing().empty() || opened.api.version(&major, &minor) != 0 || major < 12) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("the NVRTC at {} ({}.{}) is too old: Hone needs 12.0 or later; set HONE_NVRTC to use another", opened.path,
                             major, minor)};
  }
  opened.version = major * 100 + minor;
  const fs::path folder = folder_of(reinterpret_cast<const void*>(opened.api.version));
  open_builtins(folder, opened.version);
  opened.includes = toolkit_includes(folder);
  return opened;
}

// Destroys the program of one compilation.
class ProgramOwner {
 public:
  explicit ProgramOwner(const NvrtcApi& api) : api_(api) {}
  ~ProgramOwner() {
    if (handle != nullptr) {
      api_.destroy_program(&handle);
    }
  }
  ProgramOwner(const ProgramOwner&) = delete;
  ProgramOwner& operator=(const ProgramOwner&) = delete;
  ProgramHandle handle = nullptr;

 private:
  const NvrtcApi& api_;
};

Error nvrtc_error(const NvrtcApi& api, int code, const ProgramRequest& request, std::string_view step) {
  return Error{ErrorCode::kCompile, fmt::format("{}: NVRTC failed to {}: {}", request.name, step, api.get_error_string(code))};
}

std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(text.c_str());
  }
  return pointers;
}

std::string program_log(const NvrtcApi& api, ProgramHandle program) {
  std::size_t size = 0;
  if (api.get_program_log_size(program, &size) != 0 || size == 0) {
    return "";
  }
  std::string log(size, '\0');
  if (api.get_program_log(program, log.data()) != 0) {
    return "";
  }
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  return log;
}

Result<void> read_ptx(const NvrtcApi& api, ProgramHandle handle, const ProgramRequest& request, Program& program) {
  std::size_t size = 0;
  int code = api.get_ptx_size(handle, &size);
  program.ptx.resize(size);
  code = code == 0 ? api.get_ptx(handle, program.ptx.data()) : code;
  if (code != 0) {
    return nvrtc_error(api, code, request, "produce PTX");
  }
  program.ptx.resize(std::min(program.ptx.find('\0'), program.ptx.size()));
  return {};
}

Result<void> read_outputs(const NvrtcApi& api, ProgramHandle handle, const ProgramRequest& request, Program& program) {
  for (const std::string& expression : request.expressions) {
    const char* lowered = nullptr;
    if (const int code = api.get_lowered_name(handle, expression.c_str(), &lowered); code != 0) {
      return nvrtc_error(api, code, request, fmt::format("name '{}'", expression));
    }
    program.symbols[expression] = lowered;
  }
  std::size_t size = 0;
  if (const int code = api.get_cubin_size(handle, &size); code != 0) {
    return nvrtc_error(api, code, request, "produce machine code");
  }
  program.cubin.resize(size);
  if (const int code = api.get_cubin(handle, reinterpret_cast<char*>(program.cubin.data())); code != 0) {
    return nvrtc_error(api, code, request, "produce machine code");
  }
  return request.ptx ? read_ptx(api, handle, request, program) : Result<void>();
}

}  // namespace

std::string Nvrtc::version_text() const { return fmt::format("{}.{}", version / 100, version % 100); }

std::vector<std::string> nvrtc_candidates() {
  return library_candidates({.variable = "HONE_NVRTC",
                             .names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                             .wheels = {"nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"}});
}

Result<const Nvrtc*> nvrtc() {
  static const Result<Nvrtc> opened = open_nvrtc();
  if (!opened) {
    return opened.error();
  }
  return &opened.value();
}

Result<Program> compile_program(const Nvrtc& nvrtc, const ProgramRequest& request) {
  const NvrtcApi& api = nvrtc.api;
  std::vector<const char*> names, texts;
  for (const auto& [name, text] : request.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  ProgramOwner owner(api);
  if (const int code = api.create_program(&owner.handle, request.source.c_str(), request.name.c_str(), static_cast<int>(names.size()),
                                          texts.data(), names.data());
      code != 0) {
    return nvrtc_error(api, code, request, "start");
  }
  for (const std::string& expression : request.expressions) {
    if (const int code = api.add_name_expression(owner.handle, expression.c_str()); code != 0) {
      return nvrtc_error(api, code, request, fmt::format("instantiate '{}'", expression));
    }
  }
  const std::vector<const char*> options = c_strings(request.options);
  Program program;
  const int code = api.compile_program(owner.handle, static_cast<int>(options.size()), options.data());
  program.compiled = code == 0;
  program.log = program_log(api, owner.handle);
  if (!program.compiled && program.log.empty()) {
    program.log = fmt::format("{}: error: NVRTC: {}", request.name, api.get_error_string(code));
  }
  if (program.compiled) {
    HONE_TRY(read_outputs(api, owner.handle, request, program));
  }
  return program;
}

}  // namespace hone::cuda
