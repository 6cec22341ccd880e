#include "engine/reader/clang_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/kernel/kernel_headers.hpp"
#include "engine/kernel/standard_headers.hpp"

namespace hone::kernel {
namespace {

/// Headers a CUDA file may include although Hone's own need none: what they declare is in kernel_read.h, or here.
constexpr std::string_view kHalfTypes = R"(#pragma once
#include <hone/kernel_read.h>
#define HONE_HALF(type, pair)                                                                          \
  struct type { unsigned short x; type() = default; type(float); operator float() const; };            \
  struct pair { type x, y; };                                                                          \
  type __hadd(type, type); type __hsub(type, type); type __hmul(type, type); type __hdiv(type, type);  \
  type __hfma(type, type, type); type __hmax(type, type); type __hmin(type, type); type __hneg(type);  \
  pair __hadd2(pair, pair); pair __hsub2(pair, pair); pair __hmul2(pair, pair);                        \
  pair __hfma2(pair, pair, pair); pair __hmax2(pair, pair); pair __hmin2(pair, pair);                  \
  float __low2float(pair); float __high2float(pair);
HONE_HALF(__half, __half2)
HONE_HALF(__nv_bfloat16, __nv_bfloat162)
#undef HONE_HALF
using half = __half; using half2 = __half2; using nv_bfloat16 = __nv_bfloat16; using nv_bfloat162 = __nv_bfloat162;
float __half2float(__half); __half __float2half(float); __half __float2half_rn(float);
float2 __half22float2(__half2); __half2 __float22half2_rn(float2); __half2 __floats2half2_rn(float, float);
__half2 __half2half2(__half); __half2 __halves2half2(__half, __half);
float __bfloat162float(__nv_bfloat16); __nv_bfloat16 __float2bfloat16(float); __nv_bfloat16 __float2bfloat16_rn(float);
float2 __bfloat1622float2(__nv_bfloat162); __nv_bfloat162 __float22bfloat162_rn(float2);
__nv_bfloat162 __floats2bfloat162_rn(float, float); __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16);
)";
constexpr std::string_view kNothingMore = "#include <hone/kernel_read.h>\n";
constexpr std::array<KernelHeader, 5> kStubs{{
    {"cuda_fp16.h", kHalfTypes},
    {"cuda_bf16.h", kHalfTypes},
    {"cuda_fp16.hpp", kHalfTypes},
    {"cuda_bf16.hpp", kHalfTypes},
    {"cuda_pipeline.h", kNothingMore},
}};

std::vector<SourceFile> virtual_headers() {
  std::vector<SourceFile> files;
  for (const auto& header : kernel_headers()) {
    files.push_back({fmt::format("{}/{}", kHeaderRoot, header.name), std::string(header.text)});
  }
  for (const auto& stub : kStubs) {
    files.push_back({fmt::format("{}/{}", kHeaderRoot, stub.name), std::string(stub.text)});
  }
  for (const auto& [name, text] : standard_headers()) {
    files.push_back({fmt::format("{}/{}", kHeaderRoot, name), std::string(text)});
  }
  return files;
}

CXUnsavedFile unsaved(const SourceFile& file) { return {file.path.c_str(), file.text.c_str(), file.text.size()}; }

/// Kernel bodies may use an intrinsic that kernel_read.h does not declare and assembly for a machine that is not this one:
/// the device compiler will judge them.
bool is_for_device_compiler(std::string_view message) {
  return message.starts_with("use of undeclared identifier '__") || message.starts_with("no matching function for call to '__") ||
         message.ends_with(" in asm") || message.find("asm constraint") != std::string_view::npos ||
         message.find("in inline asm") != std::string_view::npos;
}

/// "'cub/cub.cuh' file not found"
bool is_about_cuda_header(std::string_view message) {
  const std::size_t end = message.find('\'', 1);
  return message.starts_with('\'') && message.ends_with("file not found") && is_cuda_header(message.substr(1, end - 1));
}

/// CUDA's own headers that the files include are empty for the reader, wherever they are: they are not made for it, and take it a second.
std::vector<SourceFile> closed_headers(const SourceFile& main, const std::vector<SourceFile>& others) {
  std::vector<SourceFile> closed;
  const auto add = [&](std::string_view text) {
    constexpr std::string_view kInclude = "#include";
    for (std::size_t at = text.find(kInclude); at != std::string_view::npos; at = text.find(kInclude, at + 1)) {
      std::string_view name = text.substr(at + kInclude.size(), 100);
      name.remove_prefix(std::min(name.find_first_of("<\"\n"), name.size()));
      if (name.empty() || name[0] == '\n') {
        continue;
      }
      name = name.substr(1, name.find(name[0] == '<' ? '>' : '"', 1) - 1);
      if (is_cuda_header(name)) {
        closed.push_back({fmt::format("{}/{}", kHeaderRoot, name), "#pragma once\n#include <hone/kernel_read.h>\n"});
      }
    }
  };
  add(main.text);
  for (const SourceFile& other : others) {
    add(other.text);
  }
  return closed;
}

CXChildVisitResult collect(CXCursor cursor, CXCursor /*parent*/, CXClientData into) {
  static_cast<std::vector<CXCursor>*>(into)->push_back(cursor);
  return CXChildVisit_Continue;
}

}  // namespace

std::string diagnostic(const Location& where, std::string_view message, std::string_view severity) {
  return fmt::format("{}:{}:{}: {}: {}", where.file, where.line, where.column, severity, message);
}

Unit::Unit(const Libclang& clang, SourceFile main, std::string user_path, std::string shown_as)
    : clang_(clang),
      main_(std::move(main)),
      user_path_(std::move(user_path)),
      shown_as_(std::move(shown_as)),
      index_(clang.createIndex(0, 0)) {}

Unit::~Unit() {
  if (unit_ != nullptr) {
    clang_.disposeTranslationUnit(unit_);
  }
  clang_.disposeIndex(index_);
}

Result<std::unique_ptr<Unit>> Unit::parse(const SourceFile& main, const std::vector<SourceFile>& others,
                                          const std::vector<std::string>& arguments, std::string user_path, std::string shown_as) {
  const auto& clang = libclang();
  if (!clang) {
    return clang.error();
  }
  static const std::vector<SourceFile> headers = virtual_headers();
  const std::vector<SourceFile> closed = closed_headers(main, others);
  std::vector<CXUnsavedFile> files{unsaved(main)};
  for (const auto* list : {&headers, &others, &closed}) {
    for (const auto& file : *list) {
      files.push_back(unsaved(file));
    }
  }
  const std::string root(kHeaderRoot);
  std::vector<const char*> options{"-x", "c++",       "-std=c++20", "-DHONE_READ", "-nostdinc", "-nostdinc++", "-ferror-limit=0",
                                   "-I", root.c_str()};
  for (const auto& argument : arguments) {
    options.push_back(argument.c_str());
  }
  std::unique_ptr<Unit> unit(new Unit(*clang, main, std::move(user_path), std::move(shown_as)));
  const auto code = clang->parseTranslationUnit2(unit->index_, main.path.c_str(), options.data(), static_cast<int>(options.size()),
                                                 files.data(), static_cast<unsigned>(files.size()),
                                                 CXTranslationUnit_KeepGoing | CXTranslationUnit_DetailedPreprocessingRecord, &unit->unit_);
  if (code != CXError_Success) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("{}: libclang ({}) failed on this file with error {}", main.path, clang->path, static_cast<int>(code))};
  }
  return unit;
}

std::vector<std::string> Unit::cuda_headers() const {
  std::vector<std::string> names;
  for (const CXCursor child : top_level()) {
    std::string name = kind(child) == CXCursor_InclusionDirective ? spelling(child) : std::string{};
    if (is_cuda_header(name) && std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<Unit::Range> Unit::ranges_read() const {
  std::vector<Range> ranges;
  for (const CXCursor child : top_level()) {
    const CXCursorKind what = kind(child);
    const bool function = what == CXCursor_FunctionDecl || what == CXCursor_FunctionTemplate;
    if ((!function && what != CXCursor_StructDecl) || !is_users(child)) {
      continue;
    }
    const std::string name = spelling(child);
    bool read = !function ? name == "Problem" || name == "Config"
                          : name == "valid" || name == "likely" || name == "cost" || name == "launch" || name.starts_with("launch_");
    std::size_t end = end_offset(child);
    for (const CXCursor part : children(child)) {
      const std::string mark = function && kind(part) == CXCursor_AnnotateAttr ? spelling(part) : std::string{};
      read = read || mark == "hone:kernel" || mark.starts_with("hone:reference");
      if (mark == "hone:kernel" || kind(part) == CXCursor_CompoundStmt) {
        end = kind(part) == CXCursor_CompoundStmt && !name.starts_with("launch") && name != "valid" && name != "likely" && name != "cost"
                  ? offset(part)
                  : end;
      }
    }
    if (read) {
      ranges.push_back({physical_file(child), offset(child), end});
    }
  }
  return ranges;
}

bool Unit::is_in(const std::vector<Range>& ranges, CXSourceLocation where) const {
  CXFile file = nullptr;
  unsigned at = 0;
  clang_.getExpansionLocation(where, &file, nullptr, nullptr, &at);
  const std::string path = file == nullptr ? std::string{} : clang_.take(clang_.getFileName(file));
  const bool marks = path == main_.path && path.starts_with(kHeaderRoot);
  return marks || std::ranges::any_of(ranges, [&](const Range& r) { return r.file == path && r.begin <= at && at < r.end; });
}

std::vector<std::string> Unit::errors() const {
  std::vector<std::string> errors, fatal;
  const unsigned count = clang_.getNumDiagnostics(unit_);
  if (count == 0) {
    return errors;
  }
  std::optional<bool> closed;  // looked up at the first error: most files have warnings alone
  std::vector<Range> ranges;
  for (unsigned i = 0; i < count; ++i) {
    CXDiagnostic found = clang_.getDiagnostic(unit_, i);
    const std::string message = clang_.take(clang_.getDiagnosticSpelling(found));
    const auto severity = clang_.getDiagnosticSeverity(found);
    if (severity >= CXDiagnostic_Error && !closed) {
      closed = !cuda_headers().empty();
      ranges = *closed ? ranges_read() : std::vector<Range>{};
    }
    const bool left = closed.value_or(false) && (is_about_cuda_header(message) ||
                                                 (severity == CXDiagnostic_Error && !is_in(ranges, clang_.getDiagnosticLocation(found))));
    if (severity >= CXDiagnostic_Error && !left && !is_for_device_compiler(message)) {
      (severity == CXDiagnostic_Fatal ? fatal : errors).push_back(diagnostic(presumed(clang_.getDiagnosticLocation(found)), message));
    }
    clang_.disposeDiagnostic(found);
  }
  return fatal.empty() ? errors : fatal;  // a header that is missing explains the names that are unknown after it
}

std::vector<std::string> Unit::warnings() const {
  std::vector<std::string> warnings;
  for (unsigned i = 0; i < clang_.getNumDiagnostics(unit_); ++i) {
    CXDiagnostic found = clang_.getDiagnostic(unit_, i);
    const std::string message = clang_.take(clang_.getDiagnosticSpelling(found));
    // What else clang would warn of is for the device compiler: a kernel parses here with stand-ins for CUDA's names.
    if (clang_.getDiagnosticSeverity(found) == CXDiagnostic_Warning && message.find("' is deprecated") != std::string::npos) {
      warnings.push_back(diagnostic(presumed(clang_.getDiagnosticLocation(found)), message, "warning"));
    }
    clang_.disposeDiagnostic(found);
  }
  return warnings;
}

const std::vector<CXCursor>& Unit::top_level() const {
  if (!top_level_) {
    top_level_ = children(root());
  }
  return *top_level_;
}

std::vector<CXCursor> Unit::children(CXCursor cursor) const {
  std::vector<CXCursor> result;
  clang_.visitChildren(cursor, collect, &result);
  return result;
}

std::vector<CXCursor> Unit::expressions(CXCursor cursor) const {
  std::vector<CXCursor> result = children(cursor);
  std::erase_if(result, [&](CXCursor child) { return kind(child) < CXCursor_FirstExpr || kind(child) > CXCursor_LastExpr; });
  return result;
}

std::string Unit::type_name(CXType type) const {
  std::string name = clang_.take(clang_.getTypeSpelling(type));
  for (const std::string_view qualifier : {"const ", "volatile "}) {
    if (name.starts_with(qualifier)) {
      name.erase(0, qualifier.size());
    }
  }
  return name;
}

CXCursor Unit::record(CXType type) const {
  CXCursor declaration = clang_.getTypeDeclaration(clang_.getCanonicalType(type));
  return clang_.getCursorDefinition(declaration);
}

std::vector<CXCursor> Unit::fields(CXCursor record) const {
  std::vector<CXCursor> result = children(record);
  std::erase_if(result, [&](CXCursor child) { return kind(child) != CXCursor_FieldDecl; });
  return result;
}

bool Unit::is_static_field(CXCursor cursor) const {
  const auto marked = [&](CXCursor child) { return kind(child) == CXCursor_AnnotateAttr && spelling(child) == "hone:static"; };
  return kind(cursor) == CXCursor_VarDecl && std::ranges::any_of(children(cursor), marked);
}

Location Unit::presumed(CXSourceLocation where) const {
  CXString file;
  Location location;
  clang_.getPresumedLocation(where, &file, &location.line, &location.column);
  location.file = clang_.take(file);
  if (location.file == user_path_) {
    location.file = shown_as_;
  }
  return location;
}

Location Unit::location(CXCursor cursor) const { return presumed(clang_.getCursorLocation(cursor)); }

std::string Unit::physical_file(CXCursor cursor) const {
  CXFile file = nullptr;
  clang_.getExpansionLocation(clang_.getCursorLocation(cursor), &file, nullptr, nullptr, nullptr);
  return file == nullptr ? std::string{} : clang_.take(clang_.getFileName(file));
}

std::size_t Unit::offset(CXCursor cursor) const {
  unsigned offset = 0;
  clang_.getExpansionLocation(clang_.getRangeStart(clang_.getCursorExtent(cursor)), nullptr, nullptr, nullptr, &offset);
  return offset;
}

std::size_t Unit::end_offset(CXCursor cursor) const {
  unsigned offset = 0;
  clang_.getExpansionLocation(clang_.getRangeEnd(clang_.getCursorExtent(cursor)), nullptr, nullptr, nullptr, &offset);
  return offset;
}

std::string_view Unit::file_text(CXCursor cursor) const {
  CXFile file = nullptr;
  clang_.getExpansionLocation(clang_.getCursorLocation(cursor), &file, nullptr, nullptr, nullptr);
  std::size_t size = 0;
  const char* text = file == nullptr ? nullptr : clang_.getFileContents(unit_, file, &size);
  return text == nullptr ? std::string_view{} : std::string_view(text, size);
}

std::string Unit::source(CXCursor cursor) const {
  const std::size_t begin = offset(cursor), end = end_offset(cursor);
  const bool here = physical_file(cursor) == main_.path && begin < end && end <= main_.text.size();
  return here ? main_.text.substr(begin, end - begin) : std::string{};
}

std::vector<std::string> Unit::first_tokens(CXCursor cursor, unsigned most) const {
  CXToken* tokens = nullptr;
  unsigned count = 0;
  clang_.tokenize(unit_, clang_.getCursorExtent(cursor), &tokens, &count);
  std::vector<std::string> texts;
  for (unsigned i = 0; i < std::min(count, most); ++i) {
    texts.push_back(clang_.take(clang_.getTokenSpelling(unit_, tokens[i])));
  }
  clang_.disposeTokens(unit_, tokens, count);
  return texts;
}

bool Unit::is_users(CXCursor cursor) const {
  const std::string file = physical_file(cursor);
  return !file.empty() && !file.starts_with(kHeaderRoot);
}

void Unit::fail(CXCursor where, std::string_view message) const { throw BadKernel(diagnostic(location(where), message)); }

}  // namespace hone::kernel
