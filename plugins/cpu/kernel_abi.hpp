#pragma once
// The part of hone/kernel_cpu.h that compiled kernels and the runtime share.

#define HONE_CPU_RUNTIME
#include "hone/kernel_cpu.h"
#include "hone/kernel_narrow.h"
#undef HONE_CPU_RUNTIME
