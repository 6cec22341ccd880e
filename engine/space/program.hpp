#pragma once
// Terms made ready for many evaluations: what is already known comes from slots, what is chosen from digits.

#include <array>
#include <cstdint>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "engine/space/bounds.hpp"

namespace hone::space {

class Program {
 public:
  using Node = std::uint32_t;

  struct Inputs {
    const std::uint64_t* slots = nullptr;   ///< known terms; a real number as its bits
    std::uint64_t failed = 0;               ///< slots whose term cannot be evaluated
    const std::uint16_t* digits = nullptr;  ///< of parameters, by level
  };

  Node slot(std::size_t index, bool plain);
  Node constant(const Value& value);
  Node failure();
  /// The value of a parameter, by its digit. `values` must outlive the program.
  Node choice(std::size_t level, const std::vector<Value>& values, bool plain);
  /// The same where the digit is in a slot.
  Node remembered_choice(std::size_t slot, const std::vector<Value>& values);
  /// Known by its bounds alone.
  Node bounded(const Bounds& bounds, bool integers);
  Node operation(Operator op, const std::vector<Node>& operands, bool integers);

  /// Computes a node of slots, constants and choices; false if it fails.
  bool evaluate(Node node, const Inputs& in, Value& result) const;
  [[nodiscard]] bool holds(Node node, const Inputs& in) const;
  /// Bounds of a node; the slots that decided them are added to `read`.
  Bounds range(Node node, const Inputs& in, std::uint64_t& read) const;

 private:
  enum class Kind : std::uint8_t { kSlot, kConstant, kFailure, kChoice, kRememberedChoice, kBounded, kOperation };
  struct Instruction {
    Kind kind = Kind::kOperation;
    Operator op = Operator::kConstant;
    bool plain = true;     ///< no real number occurs in it
    bool integers = true;  ///< its result is no real number
    std::uint8_t arity = 0;
    std::uint32_t index = 0;  ///< of the slot, or the level of a choice
    std::array<Node, 3> operands{};
    Value value;
    Bounds bounds;
    const Value* values = nullptr;
  };

  Node add(Instruction instruction);
  bool plain(Node node, const Inputs& in, std::int64_t& result) const;
  bool plain_operation(const Instruction& it, const Inputs& in, std::int64_t& result) const;
  Bounds logic(const Instruction& it, const Inputs& in, std::uint64_t& read) const;
  Bounds select(const Instruction& it, const Inputs& in, std::uint64_t& read) const;

  std::vector<Instruction> code_;
};

}  // namespace hone::space
