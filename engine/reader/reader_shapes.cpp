// SHAPES(...) and OPERATION(...) of a kernel file: problems that its author wants every candidate to be right on, and what it implements.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

/// They are tried beside the problem that is tuned, and the reference runs on each.
constexpr double kMostElements = 1 << 24;

/// The condition of `valid` that refuses the default configuration there, whatever the device; empty if none does.
std::string refuses_default(const KernelSpec& spec, const hone::Problem& problem) {
  Bindings bound = bindings(problem);
  bound.merge(bindings(spec.parameters, default_configuration(spec)));
  for (const Constraint& constraint : spec.constraints) {
    const Expression left = constraint.condition.substitute(bound);
    if (left.is_constant() && !left.node().value.boolean()) {
      return constraint.text;
    }
  }
  return "";
}

}  // namespace

void KernelReader::read_shapes() {
  for (const CXCursor shapes : found_.shapes) {
    attempt([&] {
      const auto marks = marks_of(unit_, file_, shapes);
      const Mark mark = *find_mark(marks, "shapes");
      if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
        throw BadKernel(diagnostic(mark.where, "SHAPES lists problems: SHAPES({.rows = 1, .cols = 4097}, {.rows = 3});"));
      }
      const std::size_t id = texts_.add_problems(mark, "a shape of SHAPES");
      later_.emplace_back([this, id] {
        for (const MarkTexts::Item& item : texts_.problems(id)) {
          attempt([&] { add_shape(item); });
        }
      });
    });
  }
}

void KernelReader::read_operation() {
  for (const CXCursor operation : found_.operations) {
    attempt([&] {
      const auto marks = marks_of(unit_, file_, operation);
      const Mark mark = *find_mark(marks, "operation");
      const std::size_t first = mark.text.find_first_not_of(" \t\n"), last = mark.text.find_last_not_of(" \t\n");
      const std::string name = first == std::string::npos ? "" : mark.text.substr(first, last + 1 - first);
      const bool is_name = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                           std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
      if (!is_name) {
        throw BadKernel(
            diagnostic(mark.where, fmt::format("OPERATION takes the name of one operation, OPERATION(matmul); not '{}'", name)));
      }
      if (!spec_.operation.empty() && spec_.operation != name) {
        throw BadKernel(diagnostic(mark.where, fmt::format("a second operation, '{}': the file implements '{}'", name, spec_.operation)));
      }
      spec_.operation = name;
    });
  }
}

void KernelReader::add_shape(const MarkTexts::Item& item) {
  hone::Shape shape;
  const auto fail = [&](const std::string& why) { throw BadKernel(diagnostic(item.where, fmt::format("SHAPES: {}", why))); };
  for (const ProblemField& field : spec_.problem) {
    if (field.is_static()) {  // no member that an initializer could name: it has the value of the problem that is tuned
      shape.emplace_back(field.name, field.default_value);
      continue;
    }
    const Form* const value = item.form.field(field.name);
    if (value == nullptr || !value->scalar.is_constant()) {
      fail(fmt::format("the value of '{}' is not a constant", field.name));
    }
    shape.emplace_back(field.name, value->scalar.node().value.integer());
    if (const std::string why = why_not(field, shape.back().second); !why.empty()) {
      fail(fmt::format("'{}' is {}; {}", field.name, shape.back().second, why));
    }
  }
  const auto refused = [&](const auto& by) {  // by all dtypes: the reason of one
    std::string text;
    const bool all = std::ranges::all_of(spec_.dtypes, [&](const DTypes& dtypes) { return !(text = by(spec_, {dtypes, shape})).empty(); });
    return all ? text : "";
  };
  for (const DTypes& dtypes : spec_.dtypes) {
    if (const double elements = largest_argument(spec_, {dtypes, shape}); elements > kMostElements) {
      fail(fmt::format("an argument of {} has {:.0f} elements; SHAPES are small problems with at most {:.0f}", text(shape), elements,
                       kMostElements));
    }
  }
  if (const std::string why = refused(refusal); !why.empty()) {
    fail(fmt::format("'valid' rejects every configuration on {}: {}", text(shape), why));
  }
  if (const std::string why = refused(refuses_default); !why.empty()) {
    spec_.warnings.push_back(diagnostic(
        item.where,
        fmt::format("SHAPES: 'valid' rejects the default configuration on {}, so only others are tried there: {}", text(shape), why),
        "warning"));
  }
  if (std::ranges::find(spec_.shapes, shape) == spec_.shapes.end()) {
    spec_.shapes.push_back(std::move(shape));
  }
}

}  // namespace hone::kernel
