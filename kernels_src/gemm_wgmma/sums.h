#pragma once
// Products of a warpgroup, and how its threads hold them.

#if defined(HONE_HOPPER)
template <class T>
HONE_DEVICE hopper::u32 pair_of(float low, float high) {
  return (hopper::u32)T(low).bits | (hopper::u32)T(high).bits << 16;
}

template <class T, Config c>
struct Sums {
  static constexpr int kProducts = rows_of(c) / 64;  // one above the other
  Problem p;
  Places<c> places;
  int rank, group, thread;  // of the cluster, warpgroup of the block, thread of the warpgroup
  float values[kProducts][c.bn / 2];

  /// First row (of the tile) and lane of this thread's part of product i.
  HONE_DEVICE int row_of(int i) const { return first_row() + i * 64 + thread / 32 * 16 + thread % 32 / 4; }
  HONE_DEVICE int first_row() const { return c.turns ? 0 : group * rows_of(c); }

  /// The warpgroup has read a stage: every block that writes into it may know.
  HONE_DEVICE void release(int stage) const {
    if constexpr (sharers_of(c) == 1) {
      if (thread == 0) hopper::barrier_arrive(places.empty(stage));
    } else {
      if (thread < sharers_of(c)) hopper::barrier_arrive_at(places.empty(stage), thread);
    }
  }

  /// Clears what lies before the first elements of the warpgroup's rows.
  HONE_DEVICE void clear_before(int shift, int stage) const {
    for (int row = thread; row < rows_of(c); row += 128) {
      const hopper::u32 line = places.a(stage) + (first_row() + row) * 128 + row % 8 * 16;
      for (int e = 0; e < shift; ++e) hopper::store_half(line + e * 2, 0);
    }
    hopper::fence_async();
    hopper::named_barrier(1 + group, 128);
  }

  /// Operands both in shared memory. 16 of k are 32 bytes of lines along k, or 16 lines of 128 bytes.
  HONE_DEVICE void multiply(int stage, bool first) {
    constexpr int kPanel = kDepth * 128, kStepA = a_is_deep(c) ? 32 : 2048, kStepB = b_is_deep(c) ? 32 : 2048;
    const hopper::u64 a = hopper::operand(places.a(stage) + first_row() * 128, a_is_deep(c) ? 16 : kPanel, 1024);
    const hopper::u64 b = hopper::operand(places.b(stage), b_is_deep(c) ? 16 : kPanel, 1024);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        hopper::multiply_add<T, c.bn, !a_is_deep(c), !b_is_deep(c)>(values[i], a + (k * kStepA + i * 64 * 128) / 16, b + k * kStepB / 16,
                                                                    !first || k > 0);
      }
    }
  }

  /// Adds up the work's k-steps: while one is multiplied the one before is given back.
  HONE_DEVICE void accumulate(const Work& work, Ring<c>& ring) {
    int before = 0;
    const int shift = work.begin == 0 ? shift_of<c>(p, work.row_class) : 0;
    for (int step = work.begin; step < work.end; ++step) {
      hopper::barrier_wait(places.full(ring.stage), ring.parity);
      if (c.repack == 2 && step == 0 && shift > 0) clear_before(shift, ring.stage);
      hopper::products_begin();
      multiply(ring.stage, step == work.begin);
      hopper::products_commit();
      hopper::products_wait<1>();
      if (step > work.begin) release(before);
      before = ring.stage;
      ring.advance();
    }
    hopper::products_wait<0>();
    if (work.end > work.begin) release(before);
  }
};
#endif
