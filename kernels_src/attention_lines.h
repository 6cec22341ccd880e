#pragma once
// Lines of tiles in shared memory: keys, values and rows of q.

/// Elements from one line to the next. Places in a line are found by exclusive or, of up to eight words of 16 bytes.
HONE_BOTH constexpr long line_pitch() { return Problem::head <= 64 ? 64 : Problem::head <= 128 ? 128 : 256; }
