#pragma once
// Loops that are compiled twice: with 256-bit vectors for processors that have them, and with the baseline vectors. Both perform
// the same additions and multiplications without fusing them, so a search does not depend on the processor.

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these are not ready when versions are chosen
#define HONE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HONE_WIDE
#endif
