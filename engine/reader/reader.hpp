#pragma once
// The pieces of read_kernel_file: each reads one kind of declaration into the spec and collects what breaks a rule of the format.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/reader/marks.hpp"

namespace hone::kernel {

/// The declarations of a kernel file that mean something to Hone.
struct Declarations {
  CXCursor problem{}, config{};
  bool has_problem = false, has_config = false;
  std::map<std::string, CXCursor> functions;  ///< valid, likely, launch, launch_NAME, cost
  std::vector<CXCursor> kernels, references, generators, acceptances, shapes, operations;
  std::vector<std::pair<CXCursor, CXCursor>> constants;  ///< a CONSTANT, and the declaration behind it
};

/// What a C++ type is as an element: one of the kernel's type parameters or a dtype, and how many of them a small vector has.
struct Element {
  int type_parameter = -1;  ///< -1: the dtype
  DType dtype = DType::kF32;
  int lanes = 1;

  static Element of(const Argument& a) {
    return {a.element_is_t ? static_cast<int>(a.type_parameter) : -1, a.element_is_t ? DType::kF32 : a.dtype, a.lanes};
  }
  void apply(Argument& a) const {
    a.element_is_t = type_parameter >= 0;
    a.type_parameter = a.element_is_t ? static_cast<std::size_t>(type_parameter) : 0;
    a.dtype = dtype;
    a.lanes = lanes;
  }
  friend bool operator==(const Element&, const Element&) = default;
};
/// By clang's spelling of the canonical type, "unsigned char", "Vector<type-parameter-0-0, 4>"; nothing if it is none.
std::optional<Element> element_of(std::string_view cpp, std::size_t type_parameters = 0);

template <class Of>
struct ItemNames;

class KernelReader {
 public:
  KernelReader(const Unit& unit, const SourceFile& file, KernelSpec& spec) : unit_(unit), file_(file), spec_(spec) {}

  /// Reads everything; what breaks a rule is in errors() afterwards.
  void read(const std::vector<std::string>& arguments);
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }
  /// The file's `likely`, if it has one.
  [[nodiscard]] std::optional<CXCursor> expectations() const;

 private:
  /// What the second parse will tell: done once all marks are collected.
  using Later = std::function<void()>;
  struct Shape {
    Scope scope;
    bool takes_config = true;
  };

  // reader.cpp
  void find_declarations();
  void add_kernel(CXCursor function);
  void find_constants();
  [[nodiscard]] bool declares_kernel(CXCursor function) const;
  void read_conditions(const std::string& function, std::vector<Constraint>& conditions);
  void read_cost();

  // reader_fields.cpp: struct Problem and struct Config
  void read_problem();
  ProblemField problem_field(CXCursor field);
  [[nodiscard]] std::vector<CXCursor> problem_members() const;
  [[nodiscard]] Initializer static_initializer(CXCursor field, CXCursor expression) const;
  static void read_range(const Mark& mark, ProblemField& field);
  void read_config();
  void read_parameter(CXCursor field);
  void check_values(CXCursor field, const Mark& tune, Parameter& parameter) const;
  void set_kind(CXCursor field, Parameter& parameter) const;

  // reader_shapes.cpp: problems that the author wants tried
  void read_shapes();
  void add_shape(const MarkTexts::Item& item);

  void read_operation();

  // reader_tensor_maps.cpp
  int read_tensor_map(CXCursor parameter, const std::vector<Mark>& marks, const Shape& shape, Pass& pass);

  // reader_kernels.cpp
  void read_kernels();
  void read_pass(CXCursor kernel);
  void check_result(CXCursor function);
  void check_shared(CXCursor kernel, const Pass& pass);
  void read_launch(CXCursor kernel, Pass& pass);
  void read_dtypes(CXCursor kernel, const std::vector<Mark>& marks);
  std::vector<DType> read_dtype_list(const Mark& mark, std::string_view list) const;
  [[nodiscard]] bool includes(std::string_view header) const;
  void check_types(CXCursor function, const Shape& shape, std::string_view who) const;
  void combine_dtypes(const std::vector<std::vector<DType>>& lists);
  Shape shape_of(CXCursor kernel) const;
  Scope problem_scope(CXCursor function, Scope scope) const;
  bool is_struct(CXCursor declaration, std::string_view name) const;

  // reader_arguments.cpp
  int read_argument(CXCursor kernel, CXCursor parameter, const Shape& shape, Pass& pass);
  int merge_argument(CXCursor parameter, Argument argument);
  void read_extent(CXCursor parameter, const Mark& mark, const Shape& shape, int index);

  // reader_constants.cpp
  void read_constants();
  void read_constant(const Mark& mark, CXCursor variable);
  Expression read_capacity(CXCursor variable, const Argument& argument, int lanes);
  void check_capacity(const Mark& mark, const Argument& argument) const;

  // reader_alternation.cpp: passes that repeat with exchanged buffers
  struct Then {
    std::size_t pass = 0;
    int first = 0;       ///< the input
    std::string result;  ///< and what it is from the second run on
    Mark item;
  };
  void take_then(std::vector<Mark>& items, int index);
  void add_alternation(const Then& then);
  void finish_alternation(const Then& then, const Alternation& alternation);

  // reader_elements.cpp
  void read_scalar(CXCursor parameter, const std::vector<Mark>& marks, const Shape& shape, Argument& argument);
  void read_scalar_type(CXCursor parameter, const Shape& shape, Argument& argument) const;
  void read_element(CXCursor parameter, const Shape& shape, Argument& argument) const;
  [[nodiscard]] std::optional<Element> element_of_type(CXType type, const Shape& shape) const;
  static std::string known_elements(const Shape& shape);

  // reader_reference.cpp
  void read_references();
  void read_reference(CXCursor function);
  int reference_argument(CXCursor parameter, const Shape& shape);
  void read_output(CXCursor parameter, const Shape& shape, Argument& known);
  void check_reference_name(CXCursor function);
  [[nodiscard]] std::vector<int> fields_read(CXCursor function, CXCursor config) const;

  // mark_items.hpp
  /// The argument's part, with what the items behind the first say of it; expressions come later.
  template <class Of>
  Of read_items(const std::vector<Mark>& items, const Scope& scope, std::size_t index, Of Argument::*part, const ItemNames<Of>& names);

  // reader_fill.cpp: what inputs are
  void read_fill(const std::vector<Mark>& items, const Shape& shape, int index);
  void read_generators();
  void read_generator(CXCursor function);

  // reader_judgement.cpp: what outputs may be
  void read_tolerances(CXCursor function, const Scope& scope);
  void read_acceptances();
  void read_acceptance(CXCursor function);

  // reader_reference.cpp
  /// Index of the argument that a parameter of a function of the answer's side names; the error says that `whose` takes them by name.
  int named_argument(CXCursor parameter, std::string_view whose) const;
  /// Fails unless the parameter's type is the argument's own, const or not.
  void check_element(CXCursor parameter, const Shape& shape, const Argument& argument) const;
  void check_flat_element(CXCursor parameter, const Shape& shape, const Argument& argument) const;
  Shape shape_of_answer(CXCursor function, std::string_view whose, std::vector<CXCursor>& parameters) const;

  /// Runs `step`; what it cannot read becomes an error, and reading goes on.
  void attempt(const std::function<void()>& step);
  void error(CXCursor where, std::string_view message) { errors_.push_back(diagnostic(unit_.location(where), message)); }

  const Unit& unit_;
  const SourceFile& file_;
  KernelSpec& spec_;
  Declarations found_;
  MarkTexts texts_;
  std::vector<Later> later_;
  std::vector<Then> thens_;
  std::vector<std::string> errors_;
  std::vector<std::string> answered_;  ///< outputs that a reference wrote already: their argument's `exact` stands
  std::vector<bool> has_extent_;       ///< of spec_.arguments: whether extent was read
};

}  // namespace hone::kernel
