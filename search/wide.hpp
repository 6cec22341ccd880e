#pragma once
// Loops that are compiled twice: with 256-bit vectors for processors that have them, and with the baseline vectors. Both perform
// the same additions and multiplications without fusing them, so a search does not depend on the processor. Not under sanitizers, which are
// not ready when versions are chosen; not with clang, which emits no copies of the inline functions that only the versions call.

#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HONE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HONE_WIDE
#endif
