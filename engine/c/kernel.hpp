#pragma once
// A hone_kernel is a hone::Kernel by another name: owned where a function made it, else a view of what a thread's lookup keeps.

#include "engine/c/call.hpp"
#include "hone/kernel_handle.hpp"

namespace hone::c {

inline const Kernel& kernel_of(const hone_kernel* kernel) { return need(reinterpret_cast<const Kernel*>(kernel), "kernel"); }
inline const hone_kernel* view_of(const Kernel& kernel) { return reinterpret_cast<const hone_kernel*>(&kernel); }
inline hone_kernel* owned(Kernel kernel) { return reinterpret_cast<hone_kernel*>(new Kernel(std::move(kernel))); }

}  // namespace hone::c
