// TENSOR_MAP: how a pass sees an argument through the tensor memory accelerator.

#include <fmt/format.h>

#include <algorithm>

#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

constexpr std::array<std::string_view, TensorMapping::kMostAxes> kAxes{"x", "y", "z", "u", "v"};

TensorMapping::Axes axes_of(const Form& view, std::string_view field) {
  TensorMapping::Axes axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = view.field(field)->field(kAxes[i])->scalar;
  }
  return axes;
}

}  // namespace

int KernelReader::read_tensor_map(CXCursor parameter, const std::vector<Mark>& marks, const Shape& shape, Pass& pass) {
  const std::string name = unit_.spelling(parameter);
  const Mark* found = find_mark(marks, "tensor_map");
  if (found == nullptr) {
    unit_.fail(parameter, fmt::format("tensor map '{}' needs a mark: TENSOR_MAP(argument, .size = {{...}}, .box = {{...}})", name));
  }
  if (unit_.clang().isConstQualifiedType(unit_.type(parameter)) == 0) {
    unit_.fail(parameter, fmt::format("tensor map '{}' must be `const __grid_constant__ TensorMap`: the hardware reads it in place", name));
  }
  Mark mark = *found;
  const std::string argument = take_argument(mark);
  if (mark.text.empty()) {
    throw BadKernel(diagnostic(found->where,
                               "TENSOR_MAP needs an argument and its view, as in TENSOR_MAP(a, .size = {p.k, p.m}, .box = {c.bk, c.bm})"));
  }
  const std::size_t id = texts_.add_tensor_view(mark, shape.scope, fmt::format("the view of '{}'", name));
  // Which pass and which map: both lists grow until the second parse.
  later_.emplace_back([this, id, mark, argument, index = spec_.passes.size(), map = pass.tensor_maps.size()] {
    const auto known = std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == argument; });
    if (known == spec_.arguments.end() || known->direction == Direction::kScalar) {
      throw BadKernel(
          diagnostic(mark.where, fmt::format("TENSOR_MAP names '{}', which is not a pointer of this file's kernels", argument)));
    }
    const Form view = texts_.tensor_view(id);
    spec_.passes.at(index).tensor_maps.at(map) = {.argument = static_cast<int>(known - spec_.arguments.begin()),
                                                  .size = axes_of(view, "size"),
                                                  .box = axes_of(view, "box"),
                                                  .stride = axes_of(view, "stride"),
                                                  .swizzle = view.field("swizzle")->scalar,
                                                  .l2 = view.field("l2")->scalar,
                                                  .offset = view.field("offset")->scalar};
  });
  pass.tensor_maps.emplace_back();
  return kTensorMapParameter;
}

}  // namespace hone::kernel
