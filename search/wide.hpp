#pragma once
// Loops that are compiled twice: with vectors of 256 bits, for the processors that have them, and with those that every one has. Both do
// the same additions and multiplications, none of them fused, so that a search does not depend on the processor.

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which are not ready when versions are chosen
#define HONE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HONE_WIDE
#endif
