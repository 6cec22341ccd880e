#pragma once
// The operation attention, which several kernels implement.
#include "attention_problem.h"

OPERATION(attention);

template <class T>
constexpr Cost cost(Problem p) {
  return cost_of(p, sizeof(T), sizeof(T));
}
