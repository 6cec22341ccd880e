#include "engine/plugin/abi_compiler.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "engine/base/digest.hpp"
#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_headers.hpp"
#include "engine/kernel/standard_headers.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/plugin/device_info.hpp"
#include "engine/plugin/device_table.hpp"
#include "engine/plugin/table.hpp"

namespace hone::plugin_host {
namespace {

/// A CompileRequest for the other side. Points into the request and into texts of its own.
class RequestView {
 public:
  explicit RequestView(const CompileRequest& request) : spec_(*request.spec) {
    if (request.reference) {
      add_reference(request.dtype, request.shape);
    }
    for (const Configuration& configuration : request.configurations) {
      add_configuration(request.dtype, configuration);
    }
    for (const KernelHeader& header : kernel_headers()) {
      headers_.push_back({keep(std::string(header.name)), keep(std::string(header.text))});
    }
    for (const auto& [included, text] : spec_.includes) {
      headers_.push_back({included.c_str(), text.c_str()});
    }
    for (auto& [included, text] : standard_headers(spec_, false)) {
      headers_.push_back({keep(std::move(included)), keep(std::move(text))});
    }
    for (const ProblemField& field : spec_.problem) {
      if (!field.is_static()) {
        fields_.push_back(field.name.c_str());
      }
    }
    request_ = {.struct_size = sizeof(hone_compile_request),
                .kernel = spec_.name.c_str(),
                .file = spec_.file.c_str(),
                .source = request.reference ? keep(answer_code(spec_, request.shape).source) : keep(source_for(spec_, request.shape)),
                .headers = headers_.data(),
                .header_count = headers_.size(),
                .dtype = static_cast<std::int32_t>(request.dtype.first()),
                .problem_fields = fields_.data(),
                .problem_field_count = fields_.size(),
                .units = units_.data(),
                .unit_count = units_.size(),
                .header_stride = sizeof(hone_text),
                .unit_stride = sizeof(hone_unit),
                .function_stride = sizeof(hone_function)};
  }
  RequestView(const RequestView&) = delete;
  RequestView& operator=(const RequestView&) = delete;
  ~RequestView() = default;

  [[nodiscard]] const hone_compile_request& request() const { return request_; }

 private:
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  void add(const char* configuration, std::vector<hone_function> functions, std::vector<const char*> options) {
    const auto& kept = functions_.emplace_back(std::move(functions));
    const auto& kept_options = options_.emplace_back(std::move(options));
    units_.push_back({configuration, kept.data(), kept.size(), kept_options.data(), kept_options.size()});
  }

  void add_reference(const DTypes& dtype, const Shape& shape) {
    std::vector<hone_function> functions;
    const auto& passes = passes_.emplace_back(answer_code(spec_, shape).passes);
    for (const ReferencePass& pass : passes) {
      functions.push_back({keep(reference_instantiation(spec_, pass.function, dtype)), pass.arguments.data(), pass.arguments.size()});
    }
    std::vector<const char*> options;
    for (std::string& option : reference_options(spec_)) {
      options.push_back(keep(std::move(option)));
    }
    add(nullptr, std::move(functions), std::move(options));
  }

  void add_configuration(const DTypes& dtype, const Configuration& configuration) {
    std::vector<hone_function> functions;
    for (const Pass& pass : spec_.passes) {
      functions.push_back({keep(instantiation(spec_, pass, dtype, configuration)), pass.arguments.data(), pass.arguments.size()});
    }
    std::vector<const char*> options;
    for (std::string& option : compile_options(spec_, configuration)) {
      options.push_back(keep(std::move(option)));
    }
    add(keep(text(spec_.parameters, configuration)), std::move(functions), std::move(options));
  }

  const KernelSpec& spec_;
  std::deque<std::string> texts_;  // a deque never moves what it holds
  std::deque<std::vector<ReferencePass>> passes_;
  std::deque<std::vector<hone_function>> functions_;
  std::deque<std::vector<const char*>> options_;
  std::vector<hone_text> headers_;
  std::vector<const char*> fields_;
  std::vector<hone_unit> units_;
  hone_compile_request request_{};
};

/// What the plugin answers, unit by unit.
class Answers {
 public:
  Answers(const hone_device& table, const hone_compile_request& request) : table_(table), request_(request), given_(request.unit_count) {}

  hone_compile_sink sink() {
    return {this, [](void* self, std::size_t unit, const hone_compiled* compiled) { static_cast<Answers*>(self)->accept(unit, *compiled); },
            [](void* self, std::size_t unit, const char* log) {
              static_cast<Answers*>(self)->answer(unit, Error{ErrorCode::kCompile, log != nullptr ? log : "it does not compile"});
            }};
  }

  /// Units without an answer fail with that of the call.
  std::vector<Result<Compiled>> results(const Result<void>& called) {
    std::vector<Result<Compiled>> results;
    for (std::optional<Result<Compiled>>& one : given_) {
      if (!one) {
        one = called ? broken("it returned no result for a configuration") : called.error();
      }
      results.push_back(std::move(*one));
    }
    return results;
  }

 private:
  [[nodiscard]] Error broken(std::string_view what) const { return device_error(table_, "compile", ErrorCode::kPlugin, what); }

  void answer(std::size_t unit, Result<Compiled> result) {
    if (unit < given_.size()) {
      given_[unit] = std::move(result);
    }
  }

  void accept(std::size_t unit, const hone_compiled& given) {
    if (unit >= given_.size()) {
      return;
    }
    hone_compiled from{};
    std::memcpy(&from, &given, std::min(sizeof(from), table_.compiled_size != 0 ? table_.compiled_size : kCompiledOfAbi2));
    const std::size_t functions = request_.units[unit].function_count;
    if (from.bytes == nullptr || from.byte_count == 0 || from.symbols == nullptr ||
        std::find(from.symbols, from.symbols + functions, nullptr) != from.symbols + functions) {
      answer(unit, broken("its artifact is empty or lacks a symbol"));
      return;
    }
    Compiled compiled;
    compiled.artifact = artifact({static_cast<const std::byte*>(from.bytes), from.byte_count});
    compiled.symbols.assign(from.symbols, from.symbols + functions);
    compiled.resources = {from.resources.registers, from.resources.spill_bytes, from.resources.stack_bytes, from.resources.shared_bytes,
                          from.resources.occupancy};
    answer(unit, std::move(compiled));
  }

  std::shared_ptr<const Artifact> artifact(std::span<const std::byte> bytes) {
    const std::string key = digest(bytes);
    if (latest_ == nullptr || latest_->digest != key) {
      latest_ = std::make_shared<const Artifact>(Artifact{key, {bytes.begin(), bytes.end()}});
    }
    return latest_;
  }

  const hone_device& table_;
  const hone_compile_request& request_;
  std::vector<std::optional<Result<Compiled>>> given_;
  std::shared_ptr<const Artifact> latest_;
};

class AbiCompiler final : public Compiler {
 public:
  AbiCompiler(const hone_device& table, void* handle) : table_(table), handle_(handle) {}
  AbiCompiler(const AbiCompiler&) = delete;
  AbiCompiler& operator=(const AbiCompiler&) = delete;
  ~AbiCompiler() override {
    guarded_end([this] { table_.destroy_compiler(handle_); });
  }

  std::vector<Result<Compiled>> compile(const CompileRequest& request) override {
    const RequestView view(request);
    Answers answers(table_, view.request());
    InRoom<hone_compile_sink> sink(answers.sink());
    return answers.results(call(table_, "compile", ErrorCode::kCompile,
                                [&](hone_message* message) { return table_.compile(handle_, &view.request(), sink.get(), message); }));
  }

 private:
  const hone_device table_;
  void* handle_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> create_compiler(const hone_device& table, const DeviceInfo& info) {
  const InfoView view(info);
  HONE_ASSIGN(void* const handle, make(table, "create_compiler", ErrorCode::kUnavailable, [&](void** made, hone_message* message) {
                return table.create_compiler(view.get(), made, message);
              }));
  return std::unique_ptr<Compiler>(std::make_unique<AbiCompiler>(table, handle));
}

}  // namespace hone::plugin_host
