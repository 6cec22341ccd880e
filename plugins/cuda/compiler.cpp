#include "plugins/cuda/compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/base/digest.hpp"
#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_headers.hpp"
#include "engine/kernel/standard_headers.hpp"
#include "engine/kernel/static_fields.hpp"
#include "plugins/cuda/compiler_log.hpp"
#include "plugins/cuda/library_kernel.hpp"

namespace hone::cuda {
namespace {

// What one configuration needs of a program: an expression for each pass, and options of its own.
struct Instance {
  std::vector<std::string> expressions;  // empty for a pass that this configuration never runs
  std::vector<std::string> options;
};

using Outcomes = std::vector<std::optional<Result<Compiled>>>;

std::string reference_kernel_name(std::size_t pass) { return fmt::format("hone_reference_{}", pass); }

std::vector<Instance> instances_of(const CompileRequest& request) {
  const KernelSpec& spec = *request.spec;
  if (request.reference) {
    Instance reference;
    for (std::size_t pass = 0; pass < answer_code(spec, request.shape).passes.size(); ++pass) {
      reference.expressions.push_back(reference_instantiation(spec, reference_kernel_name(pass), request.dtype));
    }
    reference.options = reference_options(spec);
    return {std::move(reference)};
  }
  std::vector<Instance> instances;
  for (const Configuration& configuration : request.configurations) {
    Instance instance;
    for (const Pass& pass : spec.passes) {
      instance.expressions.push_back(can_run(spec, pass, configuration) ? instantiation(spec, pass, request.dtype, configuration) : "");
    }
    instance.options = compile_options(spec, configuration);
    instances.push_back(std::move(instance));
  }
  return instances;
}

// The type of parameter I of a function, not counting the index before it.
constexpr std::string_view kParameterType =
    "\ntemplate <int I, class F> struct hone_parameter;\n"
    "template <int I, class R, class N, class A, class... B> struct hone_parameter<I, R (*)(N, A, B...)>\n"
    "    : hone_parameter<I - 1, R (*)(N, B...)> {};\n"
    "template <class R, class N, class A, class... B> struct hone_parameter<0, R (*)(N, A, B...)> { using type = A; };\n";

// The kernel's source and, for each pass of its reference, a kernel that calls it once for each index. Its parameters take their types from
// the function's own signature, so whatever the author wrote (double* for outputs, T const* for inputs, scalars) is what the kernel takes.
std::string answering_source(const KernelSpec& spec, const Shape& shape) {
  const AnswerCode code = answer_code(spec, shape);
  std::string text = code.source + std::string(kParameterType);
  const std::string prefix = template_head(spec);
  for (std::size_t pass = 0; pass < code.passes.size(); ++pass) {
    const std::string callee = code.passes[pass].function + template_arguments(spec);
    std::string parameters, arguments;
    for (std::size_t i = 0; i < code.passes[pass].arguments.size(); ++i) {
      parameters += fmt::format(", typename hone_parameter<{}, decltype(&{})>::type a{}", i, callee, i);
      arguments += fmt::format(", a{}", i);
    }
    text += fmt::format(
        "{}__global__ void {}(long n{}) {{\n"
        "  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) {}(i{});\n"
        "}}\n",
        prefix, reference_kernel_name(pass), parameters, callee, arguments);
  }
  return text;
}

// Where CUDA's own headers come from, for a file that includes one that is not there.
std::string advice(std::string_view log) {
  constexpr std::string_view kMissing = "open source file \"";  // "cannot" or "could not"
  const std::size_t at = log.find(kMissing);
  if (at == std::string_view::npos) {
    return "";
  }
  const std::string_view rest = log.substr(at + kMissing.size());
  const std::string_view name = rest.substr(0, rest.find('"'));
  const bool cuda = is_cuda_header(name) || name.starts_with("cuda_");
  return cuda ? fmt::format(
                    "\n{} comes with the CUDA toolkit, CCCL or CUTLASS: name its folder with --cuda-include or HONE_CUDA_INCLUDE, set "
                    "CUDA_HOME, or pip install nvidia-cuda-runtime, nvidia-cuda-cccl or nvidia-cutlass",
                    name)
              : fmt::format("\n{}: host headers cannot be used in device code; a file's own headers are found beside it or with -I", name);
}

// Resources of a configuration: the largest over its passes.
Resources largest(const std::map<std::string, Resources, std::less<>>& by_symbol, const std::vector<std::string>& symbols) {
  Resources most;
  for (const std::string& symbol : symbols) {
    if (const auto found = by_symbol.find(symbol); found != by_symbol.end()) {
      most.registers = std::max(most.registers, found->second.registers);
      most.spill_bytes = std::max(most.spill_bytes, found->second.spill_bytes);
      most.stack_bytes = std::max(most.stack_bytes, found->second.stack_bytes);
      most.shared_bytes = std::max(most.shared_bytes, found->second.shared_bytes);
    }
  }
  return most;
}

// Compiles a set of instances together and, where that fails, its halves.
class Batch {
 public:
  Batch(const Nvrtc& nvrtc, ProgramRequest program, const std::vector<Instance>& instances, Outcomes& outcomes)
      : nvrtc_(nvrtc), program_(std::move(program)), instances_(instances), outcomes_(outcomes) {}

  void compile(std::span<const std::size_t> members) {
    Result<Program> program = run(members);
    if (!program) {
      fail(members, program.error());
    } else if (program->compiled) {
      accept(members, std::move(*program));
    } else if (members.size() == 1) {
      fail(members, rejection(members, program->log));
    } else {
      compile(members.first(members.size() / 2));
      compile(members.subspan(members.size() / 2));
    }
  }

 private:
  Result<Program> run(std::span<const std::size_t> members) {
    program_.expressions.clear();
    for (const std::size_t member : members) {
      for (const std::string& expression : instances_[member].expressions) {
        if (!expression.empty() &&
            std::find(program_.expressions.begin(), program_.expressions.end(), expression) == program_.expressions.end()) {
          program_.expressions.push_back(expression);
        }
      }
    }
    return compile_program(nvrtc_, program_);
  }

  // NVRTC leaves ptxas's own errors out of the log when ptxas is verbose: without a visible error, ask again quietly.
  Error rejection(std::span<const std::size_t> members, const std::string& log) {
    std::string errors = first_errors(log);
    if (errors.empty()) {
      const std::vector<std::string> options = program_.options;
      std::erase(program_.options, "--ptxas-options=-v");
      if (const Result<Program> again = run(members); again && !again->compiled) {
        errors = first_errors(again->log);
      }
      program_.options = options;
    }
    return Error{ErrorCode::kCompile, (errors.empty() ? fmt::format("{}: NVRTC failed: {}", program_.name, log) : errors) + advice(log)};
  }

  void fail(std::span<const std::size_t> members, const Error& error) {
    for (const std::size_t member : members) {
      outcomes_[member] = error;
    }
  }

  void accept(std::span<const std::size_t> members, Program program) {
    const auto resources = parse_resources(program.log);
    auto artifact = std::make_shared<Artifact>();
    artifact->digest = digest(program.cubin);
    artifact->bytes = std::move(program.cubin);
    for (const std::size_t member : members) {
      Compiled compiled;
      compiled.artifact = artifact;
      for (const std::string& expression : instances_[member].expressions) {
        compiled.symbols.push_back(expression.empty() ? "" : program.symbols.at(expression));
      }
      compiled.resources = largest(resources, compiled.symbols);
      compiled.intermediate = program.ptx;
      outcomes_[member] = std::move(compiled);
    }
  }

  const Nvrtc& nvrtc_;
  ProgramRequest program_;
  const std::vector<Instance>& instances_;
  Outcomes& outcomes_;
};

// Members by their own options: those with equal options share a program.
std::map<std::vector<std::string>, std::vector<std::size_t>> groups(const std::vector<Instance>& instances) {
  std::map<std::vector<std::string>, std::vector<std::size_t>> grouped;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    grouped[instances[i].options].push_back(i);
  }
  return grouped;
}

/// Whether the program may use hopper::wgmma, under today's name or that of 0.1: its header is quicker to read without.
bool names_wgmma(const KernelSpec& spec, std::string_view source) {
  const auto names_it = [](std::string_view text) {
    return text.find("wgmma") != std::string_view::npos || text.find("multiply_add") != std::string_view::npos;
  };
  return names_it(source) || std::ranges::any_of(spec.includes, [&](const auto& header) { return names_it(header.second); });
}

/// The file's own headers. To NVRTC a header is its name: one that the file and a header of its folder name differently ("../packet.h",
/// "packet.h") would be read twice in spite of its #pragma once, so that each further name leads to the first.
std::vector<std::pair<std::string, std::string>> headers_of(const KernelSpec& spec) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& [name, text] : spec.includes) {
    const auto same = std::ranges::find(spec.includes, text, [](const auto& header) -> const std::string& { return header.second; });
    headers.emplace_back(name, same->first == name ? text : fmt::format("#include \"{}\"\n", same->first));
  }
  return headers;
}

}  // namespace

std::vector<std::string> base_options(const Nvrtc& nvrtc, std::string_view architecture) {
  std::vector<std::string> options{fmt::format("-arch={}", architecture), "--std=c++20", "-default-device", "--ptxas-options=-v"};
  if (nvrtc.version >= 1209) {
    options.emplace_back("--no-cache");  // NVRTC's own cache would hide what a compilation costs
  }
  options.insert(options.end(), nvrtc.includes.begin(), nvrtc.includes.end());
  return options;
}

std::vector<std::pair<std::string, std::string>> own_headers() {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const KernelHeader& header : kernel_headers()) {
    headers.emplace_back(header.name, header.text);
  }
  return headers;
}

std::vector<Result<Compiled>> CudaCompiler::compile(const CompileRequest& request) {
  const KernelSpec& spec = *request.spec;
  if (!spec.library.empty() && !request.reference) {
    return compile_library(request);
  }
  const std::vector<Instance> instances = instances_of(request);
  ProgramRequest program;
  program.name = spec.file;
  program.ptx = request.intermediate;
  program.source = request.reference ? answering_source(spec, request.shape) : source_for(spec, request.shape);
  program.headers = own_headers();
  const auto own = headers_of(spec);
  program.headers.insert(program.headers.end(), own.begin(), own.end());
  const auto standard = standard_headers(spec, !nvrtc_.includes.empty());
  program.headers.insert(program.headers.end(), standard.begin(), standard.end());
  Outcomes outcomes(instances.size());
  for (const auto& [options, members] : groups(instances)) {
    program.options = base_options(nvrtc_, architecture_);
    if (lines_) {
      program.options.emplace_back("-lineinfo");
    }
    if (!names_wgmma(spec, program.source)) {
      program.options.emplace_back("-DHONE_NO_WGMMA");
    }
    program.options.insert(program.options.end(), options.begin(), options.end());
    Batch(nvrtc_, program, instances, outcomes).compile(members);
  }
  std::vector<Result<Compiled>> results;
  for (std::optional<Result<Compiled>>& outcome : outcomes) {
    results.push_back(std::move(*outcome));
  }
  return results;
}

}  // namespace hone::cuda
