#pragma once
// The constraints and expectations that softmax and the norms (norm.h) share. A file that includes this one includes stream.h and defines
// its Problem and its Config before.

template <class T> HONE_BOTH constexpr int vec(Config c) { return c.bytes / (int)sizeof(T); }

/// Packets of each thread behind those that it holds in registers: the rest.
template <class T> HONE_BOTH constexpr long rest(Problem p, Config c) {
  return remaining_packets(p.cols / vec<T>(c), c.row_threads * c.cluster, c.items_per_thread / vec<T>(c), c.in_flight);
}

HONE_BOTH constexpr long groups_of(Problem p, Config c) { return ceil_div(p.rows, (long)(c.block / c.row_threads)); }

HONE_BOTH constexpr int threads_of(Config c) { return c.stages > 0 ? c.block + kHelperThreads : c.block; }

constexpr long streams_of(Problem p, Config c, int reserved, Device d) { return streams_of(p.rows, c.cluster, reserved, c.min_blocks, d); }

/// Static shared memory: the partial results that the threads of a row exchange, at most three floats each.
constexpr long declared_bytes(Config c) {
  return 2048 + (c.stages > 0 ? 16 * c.stages + (2 * c.lookahead + 2) * (48 + 12 * (c.block / 32 + c.cluster)) : 0);
}

template <class T> constexpr bool rows_are_legal(Problem p, Config c, Device d) {
  if (c.bytes < (int)sizeof(T)) return false;                                     // a packet holds at least one element
  if (c.items_per_thread < vec<T>(c)) return false;                               // a thread holds at least one packet
  if (threads_of(c) > d.threads_per_block) return false;                          // the device's limit
  if (c.row_threads > c.block) return false;                                      // a block holds whole rows (or a cluster's share of one)
  if (c.cluster > 1 && c.row_threads < c.block) return false;                     // a cluster works on one row
  if (c.cluster > 1 && d.compute_capability < 90) return false;                   // clusters: Hopper
  if (c.stages > 0 && d.compute_capability > 0 && d.compute_capability < 90) return false;  // bulk copies: Hopper
  if (c.stages > 0 && c.bytes < 16) return false;                                 // bulk copies move packets of 16 bytes
  if (c.stages > 0 && (c.row_threads < c.block || c.unaligned_rows || rest<T>(p, c) > 0)) return false;  // persistent: columns of its own
  if (c.stages > 0 && c.lookahead >= c.stages) return false;                      // a row occupies its stage until it is written
  if (!c.unaligned_rows && p.cols % vec<T>(c) != 0) return false;                 // rows begin inside a packet
  if (c.unaligned_rows && c.row_threads < vec<T>(c)) return false;                // a thread has at most one element of a row's ends
  if (c.in_flight == 0 && rest<T>(p, c) > 0) return false;                        // in_flight = 0 is for rows without a rest
  if (c.stages == 0 && (c.lookahead > 0 || c.reserved_clusters > 0)) return false;  // duplicate: only persistent blocks use these
  if (c.stages > 0 && c.in_flight > 0) return false;                              // duplicate: a persistent block has no rest
  if (c.rest_shared && c.in_flight == 0) return false;                            // duplicate: there is no rest
  if (c.reserved_clusters > 0 && streams_of(p, c, c.reserved_clusters, d) == streams_of(p, c, c.reserved_clusters - 1, d)) return false;  // duplicate: as many
  if (c.unaligned_rows && vec<T>(c) == 1) return false;                           // duplicate: no row begins inside a packet of one element
  return threads_of(c) * c.min_blocks <= d.threads_per_multiprocessor;            // the device's limit
}

// Learned on an H200 in November 2026, at 4096x4096, 8192x8192, 16384x1024 and 128x131072 in f32 and bf16, and at ragged neighbours.
template <class T> constexpr bool rows_are_likely(Problem p, Config c, Device d) {
  const long row_bytes = p.cols * (long)sizeof(T);
  if (c.row_threads < vec<T>(c)) return false;                                    // so few threads have too many packets each
  if (c.stages > 0 && (c.lookahead == 0 || 2 * c.lookahead > c.stages)) return false;  // as many rows wait for their result as are loaded
  if (c.reserved_clusters > 0 && c.cluster == 1) return false;                    // single blocks fit on every multiprocessor
  if (c.stages > 0 && (c.cluster == 2 || c.cluster == 4)) return false;           // never among the best
  if (c.stages > 0 && row_bytes < (32 << 10)) return false;                       // slower than a block for each row
  if (c.stages > 0 && (c.min_blocks > 2 || c.stream_load)) return false;          // gained nothing
  if (c.min_blocks > 1 && (c.items_per_thread + 24) * c.block * c.min_blocks > d.registers_per_multiprocessor) return false;  // spills
  if (c.min_blocks > 1 && c.block * c.min_blocks < 512) return false;             // as many blocks are resident without this limit
  if (c.row_threads < c.block && p.cols / vec<T>(c) > 32 * c.row_threads) return false;  // all threads of a block should share such a long row
  if (c.row_threads > 32 && c.row_threads * vec<T>(c) > p.cols) return false;     // some threads would have no element
  if (c.cluster > 1 && c.cluster * c.row_threads * vec<T>(c) > p.cols) return false;  // the same for a cluster
  if (c.items_per_thread > vec<T>(c) && (c.items_per_thread / 2) * c.cluster * c.row_threads >= p.cols) return false;  // empty registers
  if (c.unaligned_rows && p.cols % vec<T>(c) == 0) return false;                  // all rows begin at packets
  if (c.in_flight > 0 && rest<T>(p, c) == 0) return false;                        // there is no rest
  if (rest<T>(p, c) > 0 && !c.rest_shared && (c.stream_load || c.stream_store)) return false;  // the rest is read again and should stay in the caches
  if (c.bytes < 16 && row_bytes > 1024) return false;                             // narrow packets are for short rows
  if ((c.stream_load || c.stream_store) && row_bytes < (128 << 10)) return false;  // shorter rows never gained by it
  if (c.cluster > 1 && row_bytes < (128 << 10)) return false;                     // one block holds such a row on chip
  if (c.cluster > 2 && c.stages == 0 && row_bytes <= (512 << 10)) return false;   // two blocks hold such a row on chip
  if (c.block < 512 && c.stages == 0 && row_bytes >= (128 << 10)) return false;   // each row needs many threads
  return !c.rest_shared || row_bytes >= (64 << 10);                               // registers hold shorter rows
}
