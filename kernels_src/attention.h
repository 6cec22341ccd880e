#pragma once
// The operation attention, which several kernels implement.

/// Elements of a head of v and out.
HONE_BOTH constexpr long head_of_values() { return Problem::value_head == 0 ? Problem::head : Problem::value_head; }

#include "attention_problem.h"

OPERATION(attention);

template <class T>
constexpr Cost cost(Problem p) {
  return cost_of(p, sizeof(T), sizeof(T));
}
