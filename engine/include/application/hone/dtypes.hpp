#pragma once
// The element types of a problem: one for a kernel with `class T`, one for each type parameter of `class In, class Out`.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/dtype.hpp"
#include "hone/export.h"

namespace hone {

/// A type parameter of a kernel and its dtype. If a kernel has only one, it needs no name.
struct NamedDType {
  std::string name;
  DType dtype = DType::kF32;
  friend bool operator==(const NamedDType&, const NamedDType&) = default;
};

/// One dtype, or several by name in the order of the kernel's template: `DType::kF16`, `{{"In", DType::kE4M3}, {"Out", DType::kBF16}}`.
class HONE_API DTypes {
 public:
  DTypes() : DTypes(DType::kF32) {}
  DTypes(DType only) : all_{{{}, only}} {}  // implicit: most problems have one
  DTypes(std::initializer_list<NamedDType> all) : DTypes(std::vector<NamedDType>(all)) {}
  explicit DTypes(std::vector<NamedDType> all);  ///< at least one

  [[nodiscard]] std::span<const NamedDType> all() const { return all_; }
  [[nodiscard]] DType first() const { return all_.front().dtype; }
  [[nodiscard]] bool several() const { return all_.size() > 1; }
  /// The dtype of type parameter `i`.
  [[nodiscard]] DType operator[](std::size_t i) const { return all_.at(i).dtype; }
  friend bool operator==(const DTypes&, const DTypes&) = default;

 private:
  std::vector<NamedDType> all_;
};

/// "bf16", "In=e4m3,Out=bf16": keys, records and plans carry it.
HONE_API std::string name(const DTypes& dtypes);

/// The template arguments of a kernel: "bf16", "e4m3, bf16".
HONE_API std::string type_arguments(const DTypes& dtypes);

/// Parses the output of `name`; names of type parameters are not checked.
HONE_API Result<DTypes> parse_dtypes(std::string_view text);

}  // namespace hone
