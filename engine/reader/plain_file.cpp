// A CUDA file without Hone's marks, made a kernel file: a few declarations around an #include of it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/kernel/against.hpp"
#include "engine/reader/plain_source.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;
using kernel::PlainFunction;
using kernel::PlainParameter;

constexpr std::string_view kSubject = "hone_subject";  // the wrapper's kernel, and the stem of its file
constexpr std::string_view kFolder = "hone_plain/";    // what the plain file is included from

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<std::string> read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return Error{ErrorCode::kNotFound, fmt::format("cannot read {}", file.string())};
  }
  return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A directory that goes with all that is in it.
class Scratch {
 public:
  static Result<Scratch> create() {
    std::string path = (fs::temp_directory_path() / "hone-plain-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return Error{ErrorCode::kIo, fmt::format("cannot make a directory in {}", fs::temp_directory_path().string())};
    }
    return Scratch(path);
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) {
      fs::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit Scratch(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// The dtype that a C++ element type is; nothing for one that is not known here (a template's T, a vector type).
std::optional<DType> dtype_of(std::string_view type) {
  constexpr std::pair<std::string_view, DType> kKnown[] = {
      {"float", DType::kF32},
      {"double", DType::kF64},
      {"int", DType::kI32},
      {"half", DType::kF16},
      {"__half", DType::kF16},
      {"__nv_bfloat16", DType::kBF16},
      {"nv_bfloat16", DType::kBF16},
      {"__nv_fp8_e4m3", DType::kE4M3},
      {"__nv_fp8_e5m2", DType::kE5M2},
      {"bool", DType::kBool},
      {"int8_t", DType::kI8},
      {"signed char", DType::kI8},
      {"uint8_t", DType::kU8},
      {"unsigned char", DType::kU8},
      {"int16_t", DType::kI16},
      {"short", DType::kI16},
      {"uint16_t", DType::kU16},
      {"unsigned short", DType::kU16},
      {"int32_t", DType::kI32},
      {"uint32_t", DType::kU32},
      {"unsigned", DType::kU32},
      {"unsigned int", DType::kU32},
      {"int64_t", DType::kI64},
      {"long", DType::kI64},
      {"long long", DType::kI64},
      {"uint64_t", DType::kU64},
      {"size_t", DType::kU64},
      {"unsigned long", DType::kU64},
      {"unsigned long long", DType::kU64},
  };
  const auto* const found = std::ranges::find(kKnown, type, &std::pair<std::string_view, DType>::first);
  return found == std::end(kKnown) ? std::nullopt : std::optional(found->second);
}

class Wrapper {
 public:
  Wrapper(const PlainKernel& plain, const KernelSpec& judge) : plain_(plain), judge_(judge), dtypes_(judge.dtypes) {}

  Result<KernelSpec> run() {
    HONE_ASSIGN(const std::string text, read_text(plain_.file));
    HONE_TRY(find_entry(text));
    HONE_TRY(match_parameters());
    HONE_TRY(gather(plain_.file, std::string(kFolder) + plain_.file.filename().string()));
    HONE_ASSIGN(const Scratch scratch, Scratch::create());
    const fs::path file = scratch.path() / (std::string(kSubject) + ".cu");
    std::ofstream(file, std::ios::binary) << source(text);
    Result<KernelSpec> spec = read_kernel_file(file);
    if (!spec) {
      return Error{spec.error().code, fmt::format("{}, as it is launched by --grid, --block, --shared and --arguments: {}",
                                                  plain_.file.string(), spec.error().message)};
    }
    spec->name = function_.name;
    spec->file = plain_.file.string();
    spec->includes.insert(spec->includes.end(), includes_.begin(), includes_.end());
    for (auto& header : kernel::habitual_headers(system_headers_)) {
      spec->includes.push_back(std::move(header));
    }
    return held_against(*std::move(spec), judge_);
  }

 private:
  Result<void> find_entry(const std::string& text) {
    const std::vector<PlainFunction> found = kernel::find_plain_kernels(text);
    const std::string wanted = plain_.entry.substr(0, plain_.entry.find('<'));
    std::vector<std::string> names;
    for (const PlainFunction& function : found) {
      names.push_back(function.name);
      if (function.name == wanted || (wanted.empty() && found.size() == 1)) {
        function_ = function;
        call_ = plain_.entry.empty() ? function.name : plain_.entry;
        return {};
      }
    }
    if (names.empty()) {
      return invalid(fmt::format("{} has no __global__ function", plain_.file.string()));
    }
    return invalid(wanted.empty()
                       ? fmt::format("{} has several kernels: which one? --entry {}", plain_.file.string(), fmt::join(names, " or "))
                       : fmt::format("{} has no kernel '{}' (there are: {})", plain_.file.string(), wanted, fmt::join(names, ", ")));
  }

  [[nodiscard]] const Argument* judge_argument(std::string_view name) const {
    const auto found = std::ranges::find(judge_.arguments, name, &Argument::name);
    return found == judge_.arguments.end() || found->direction == Direction::kWorkspace ? nullptr : &*found;
  }

  Result<void> match_parameters() {
    if (!plain_.arguments.empty() && plain_.arguments.size() != function_.parameters.size()) {
      return invalid(
          fmt::format("--arguments names {}; {} takes {}", plain_.arguments.size(), function_.name, function_.parameters.size()));
    }
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
      const PlainParameter& parameter = function_.parameters[i];
      const std::string given = plain_.arguments.empty() ? inferred(parameter) : plain_.arguments[i];
      if (given.empty()) {
        return invalid(
            fmt::format("no value for parameter '{}' of {}: {} has the arguments {} and the extents {}; give --arguments, e.g. --arguments "
                        "\"x, y, p.rows, p.cols\"",
                        parameter.name, function_.name, judge_.name, argument_names(), field_names()));
      }
      HONE_TRY(pass(parameter, given));
    }
    for (const Argument& argument : judge_.arguments) {
      const bool needed = argument.direction == Direction::kOut || argument.direction == Direction::kInOut;
      if (needed && !used_.contains(argument.name)) {
        return invalid(fmt::format("{} does not get '{}', which {} writes; give --arguments to say which parameter it is", function_.name,
                                   argument.name, judge_.name));
      }
    }
    return dtypes_.empty()
               ? Result<void>(invalid(fmt::format("{} takes elements of a type that {} does not have", function_.name, judge_.name)))
               : Result<void>();
  }

  [[nodiscard]] std::string inferred(const PlainParameter& parameter) const {
    if (judge_argument(parameter.name) != nullptr) {
      return parameter.name;
    }
    const bool field = std::ranges::find(judge_.problem, parameter.name, &ProblemField::name) != judge_.problem.end();
    return field && !parameter.pointer ? "p." + parameter.name : "";
  }

  Result<void> pass(const PlainParameter& parameter, const std::string& given) {
    const Argument* const argument = judge_argument(given);
    if (argument == nullptr || argument->direction == Direction::kScalar) {
      if (parameter.pointer) {
        return invalid(fmt::format("parameter '{}' of {} is a pointer, but '{}' is not an array of {} (arrays: {})", parameter.name,
                                   function_.name, given, judge_.name, argument_names()));
      }
      passed_.push_back(given);
      used_.insert(given);
      return {};
    }
    if (!parameter.pointer) {
      return invalid(fmt::format("parameter '{}' of {} is not a pointer, but '{}' of {} is an array", parameter.name, function_.name, given,
                                 judge_.name));
    }
    if (parameter.constant && argument->direction != Direction::kIn) {
      return invalid(
          fmt::format("parameter '{}' of {} is const, but '{}' of {} is written", parameter.name, function_.name, given, judge_.name));
    }
    if (const std::optional<DType> element = dtype_of(type_of(parameter))) {
      if (!argument->element_is_t && argument->dtype != *element) {
        return invalid(fmt::format("parameter '{}' of {} has elements of {}; '{}' of {} has {}", parameter.name, function_.name,
                                   name(*element), given, judge_.name, name(argument->dtype)));
      }
      if (argument->element_is_t) {
        std::erase_if(dtypes_, [&](const DTypes& dtypes) { return dtypes[argument->type_parameter] != *element; });
      }
    }
    // A type that the call deduces must be there; any other pointer becomes what the parameter wants.
    const bool deduced = call_.find('<') == std::string::npos && function_.type_parameters.contains(parameter.type);
    passed_.push_back(deduced ? given : fmt::format("HonePointer{{(void*){}}}", given));
    used_.insert(given);
    return {};
  }

  /// Without the template's parameters, where --entry gives what they are.
  [[nodiscard]] std::string type_of(const PlainParameter& parameter) const {
    const std::vector<std::string> given = kernel::template_arguments(call_);
    const auto place = function_.type_parameters.find(parameter.type);
    return place != function_.type_parameters.end() && place->second < given.size() ? given[place->second] : parameter.type;
  }

  [[nodiscard]] std::string argument_names() const {
    std::vector<std::string> names;
    for (const Argument& argument : judge_.arguments) {
      if (judge_argument(argument.name) != nullptr) {
        names.push_back(argument.name);
      }
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  [[nodiscard]] std::string field_names() const {
    std::vector<std::string> names;
    for (const ProblemField& field : judge_.problem) {
      names.push_back("p." + field.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// The file as it is, under a name that reports show, and the headers beside it.
  Result<void> gather(const fs::path& file, const std::string& included) {
    HONE_ASSIGN(const std::string text, read_text(file));
    includes_.emplace_back(included, fmt::format("#line 1 \"{}\"\n{}", file.filename().string(), text));
    for (const std::string& header : kernel::included_headers(text, '"')) {
      const std::string as = (fs::path(included).parent_path() / header).lexically_normal().string();
      const bool known = std::ranges::find(includes_, as, &std::pair<std::string, std::string>::first) != includes_.end();
      std::error_code failed;
      if (!known && fs::exists(file.parent_path() / header, failed)) {
        HONE_TRY(gather(file.parent_path() / header, as));
        const auto gathered = std::ranges::find(includes_, as, &std::pair<std::string, std::string>::first);
        includes_.emplace_back(header, std::string(gathered->second));  // NVRTC goes by the name in the #include alone
      }
    }
    for (const std::string& header : kernel::included_headers(text, '<')) {
      system_headers_.insert(header);
    }
    return {};
  }

  /// Flat: of vectors their elements.
  [[nodiscard]] std::string element_type(const Argument& argument) const {
    Argument flat = argument;
    flat.lanes = 1;
    return element_name(judge_, flat);
  }

  [[nodiscard]] std::string types() const {
    return !judge_.templated_on_type   ? ""
           : judge_.type_names.empty() ? "class T"
                                       : fmt::format("class {}", fmt::join(judge_.type_names, ", class "));
  }

  /// "DTYPES(f32, f16) ", "DTYPES(In = f16 | bf16, Out = f32) "
  [[nodiscard]] std::string dtypes_mark() const {
    std::vector<std::string> lists;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, judge_.type_names.size()); ++i) {
      std::vector<std::string> names;
      for (const DTypes& dtypes : dtypes_) {
        const std::string one(name(dtypes[i]));
        if (std::ranges::find(names, one) == names.end()) {
          names.push_back(one);
        }
      }
      lists.push_back(judge_.type_names.empty() ? fmt::format("{}", fmt::join(names, ", "))
                                                : fmt::format("{} = {}", judge_.type_names[i], fmt::join(names, " | ")));
    }
    return judge_.templated_on_type ? fmt::format("DTYPES({}) ", fmt::join(lists, ", ")) : "";
  }

  [[nodiscard]] std::string parameters() const {
    std::string joined;
    for (const Argument& argument : judge_.arguments) {
      const std::string element = element_type(argument);
      const std::string extent = argument.extent.text();
      switch (argument.direction) {
        case Direction::kIn:
          joined += fmt::format("IN({}) const {}* {}, ", extent, element, argument.name);
          break;
        case Direction::kOut:
          joined += fmt::format("{}({}) {}* {}, ", argument.zeroed ? "OUT_ZEROED" : "OUT", extent, element, argument.name);
          break;
        case Direction::kInOut:
          joined += fmt::format("INOUT({}) {}* {}, ", extent, element, argument.name);
          break;
        case Direction::kScalar:
          joined += fmt::format("SCALAR({}) {} {}, ", argument.scalar_default.text(), element, argument.name);
          break;
        case Direction::kWorkspace:
          break;
      }
    }
    return joined;
  }

  [[nodiscard]] std::string problem() const {
    std::string fields;
    for (const ProblemField& field : judge_.problem) {
      fields += fmt::format(" long {} = {};", field.name, field.default_value);
    }
    return fields;
  }

  [[nodiscard]] std::string reference() const {
    // The judge's is what counts; a kernel file must have one to be read.
    std::string outputs, body;
    for (const Argument& argument : judge_.arguments) {
      if (argument.direction == Direction::kOut || argument.direction == Direction::kInOut) {
        outputs += fmt::format("double* {}, ", argument.name);
        body += fmt::format(" {}[i] = 0.0;", argument.name);
      }
    }
    return fmt::format("{}REFERENCE(1) void {}_reference(long i, {}Problem p) {{{} }}\n",
                       judge_.templated_on_type ? fmt::format("template <{}> ", types()) : "", kSubject, outputs, body);
  }

  [[nodiscard]] std::string source(const std::string& text) const {
    const bool on_type = judge_.templated_on_type;
    std::string made = fmt::format(
        "#include <hone/kernel.h>\n#include <hone/kernel_narrow.h>\nstruct Problem {{{} }};\nstruct Config {{ TUNE(0) int as_written = 0; "
        "}};\n",
        problem());
    made += fmt::format(
        "{}constexpr Launch launch(Problem p, Config c) {{\n  return {{.grid = {{{}}}, .block = {{{}}}, .shared = (long)({})}};\n}}\n",
        on_type ? fmt::format("template <{}> ", types()) : "", fmt::join(longs(plain_.grid), ", "), fmt::join(longs(plain_.block), ", "),
        plain_.shared);
    made += reference();
    made += kernel::plain_surroundings(fmt::format("{}{}", kFolder, plain_.file.filename().string()), system_headers_, text);
    made += fmt::format("template <{}Config c> KERNEL {}void {}({}Problem p) {{\n", on_type ? types() + ", " : "", dtypes_mark(), kSubject,
                        parameters());
    made += fmt::format("#if !defined(HONE_READ)\n  hone_plain::{}({});\n#endif\n}}\n", call_, fmt::join(passed_, ", "));
    return made;
  }

  static std::vector<std::string> longs(const std::vector<std::string>& extents) {
    std::vector<std::string> cast;
    for (const std::string& extent : extents) {
      cast.push_back(fmt::format("(long)({})", extent));
    }
    return cast;
  }

  const PlainKernel& plain_;
  const KernelSpec& judge_;
  std::vector<DTypes> dtypes_;
  PlainFunction function_;
  std::string call_;
  std::vector<std::string> passed_;
  std::set<std::string> used_;
  std::vector<std::pair<std::string, std::string>> includes_;
  std::set<std::string> system_headers_;
};

}  // namespace

Result<bool> is_plain(const fs::path& file) {
  HONE_ASSIGN(const std::string text, read_text(file));
  const std::string code = kernel::without_comments(text);
  return code.find("KERNEL") == std::string::npos && code.find("hone/kernel.h") == std::string::npos;
}

Result<KernelSpec> wrapped(const PlainKernel& plain, const KernelSpec& judge) {
  if (plain.grid.empty() || plain.block.empty() || plain.grid.size() > 3 || plain.block.size() > 3) {
    return invalid("a grid and a block have one to three extents");
  }
  return Wrapper(plain, judge).run();
}

}  // namespace hone
