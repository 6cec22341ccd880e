#pragma once
// One layer of a transformer while it decodes: each step takes one token of each sequence through attention and a gated MLP. Every launch
// is a kernel of Hone's: for a GPU and a cpu, tuned or not.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hone/engine.hpp"

namespace decode_layer {

struct Sizes {
  std::int64_t sequences = 4;
  std::int64_t heads = 2;  ///< of k and v
  std::int64_t group = 2;  ///< heads of q that share one of k and v
  std::int64_t head = 64;
  std::int64_t inner = 512;   ///< of the MLP
  std::int64_t longest = 64;  ///< tokens of a sequence, at most
  std::int64_t page = 16;     ///< tokens of a page of the cache
  [[nodiscard]] std::int64_t q_width() const { return heads * group * head; }
  [[nodiscard]] std::int64_t k_width() const { return heads * head; }
  [[nodiscard]] std::int64_t width() const { return q_width(); }                    ///< of the hidden state
  [[nodiscard]] std::int64_t pages() const { return (longest + page - 1) / page; }  ///< of a sequence
};

/// bf16, as kernels have it.
inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}
inline float from_bf16(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }
using Numbers = std::vector<std::uint16_t>;

/// Cosines, then sines, of the angles by which each position rotates pairs of elements.
inline std::vector<float> angles(const Sizes& sizes) {
  std::vector<float> all;
  const std::int64_t half = sizes.head / 2;
  for (std::int64_t position = 0; position < sizes.longest; ++position) {
    for (std::int64_t i = 0; i < sizes.head; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i % half) / static_cast<double>(half));
      all.push_back(static_cast<float>(i < half ? std::cos(angle) : std::sin(angle)));
    }
  }
  return all;
}

/// Weights of products are [out, in].
struct Weights {
  Numbers attention_norm, q, k, v, out, mlp_norm, gate, up, down;
};

/// An array on the engine's device.
class Array {
 public:
  template <class T>
  static hone::Result<Array> of(hone::Memory& memory, const std::vector<T>& elements) {
    Array array;
    HONE_ASSIGN(array.buffer_, memory.allocate(elements.size() * sizeof(T)));
    HONE_TRY(memory.upload(array.address(), std::as_bytes(std::span(elements))));
    return array;
  }
  [[nodiscard]] void* address() const { return buffer_->address(); }

 private:
  std::unique_ptr<hone::Buffer> buffer_;
};

class Layer {
 public:
  static constexpr float kEpsilon = 1e-5F;

  /// `gated`: the path of gated.cu, the one kernel that does not come with Hone. `angles`: cosines, then sines, of each position.
  static hone::Result<Layer> make(hone::Engine& engine, const Sizes& sizes, const Weights& weights, const std::vector<float>& angles,
                                  const std::string& gated) {
    HONE_TRY(engine.add_kernel_file(gated));
    Layer layer(engine, sizes);
    HONE_TRY(layer.find_kernels());
    HONE_TRY(layer.allocate(weights, angles));
    return layer;
  }

  /// Takes the hidden state of each sequence's next token through the layer. Errors: the sequences are as long as they may be.
  hone::Result<Numbers> step(const Numbers& hidden) {
    if (length_ == sizes_.longest) {
      return hone::Error{hone::ErrorCode::kInvalidArgument, "the cache is full"};
    }
    HONE_TRY(place_tokens());
    hone::Memory& memory = engine_->memory();
    HONE_TRY(memory.upload(at(kHidden), std::as_bytes(std::span(hidden))));
    HONE_TRY(attend());
    HONE_TRY(think());
    Numbers result(hidden.size());
    HONE_TRY(memory.synchronize());
    HONE_TRY(memory.download(std::as_writable_bytes(std::span(result)), at(kHidden)));
    return result;
  }

 private:
  enum Place {
    kAttentionNorm,
    kToQ,
    kToK,
    kToV,
    kToOut,
    kMlpNorm,
    kToGate,
    kToUp,
    kToDown,
    kAngles,  // weights
    kPositions,
    kSlots,
    kTable,
    kLengths,
    kKeys,
    kValues,  // the cache
    kHidden,
    kNormed,
    kQ,
    kK,
    kV,
    kRotated,
    kAttended,
    kLse,
    kMiddle,
    kGate,
    kUp,
    kGated,  // of one step
    kPlaces
  };

  Layer(hone::Engine& engine, const Sizes& sizes) : engine_(&engine), sizes_(sizes) {}
  [[nodiscard]] void* at(Place place) const { return arrays_[place].address(); }

  /// Every problem of a step is the same at each step, so kernels are looked up once. A server whose number of sequences changes would use
  /// engine.bind().
  hone::Result<void> find_kernels() {
    const Sizes& s = sizes_;
    const auto product = [&](std::int64_t from, std::int64_t to, bool adds) {  // by weights [to, from]; terms 2: adds what is there
      return engine_->kernel("matmul", hone::DType::kBF16,
                             {{"m", s.sequences}, {"n", to}, {"k", from}, {"layout", 2}, {"terms", adds ? 2 : 1}});
    };
    HONE_ASSIGN(norm_, engine_->kernel("rmsnorm", hone::DType::kBF16, {{"rows", s.sequences}, {"cols", s.width()}}));
    HONE_ASSIGN(to_q_, product(s.width(), s.q_width(), false));
    HONE_ASSIGN(to_k_, product(s.width(), s.k_width(), false));
    HONE_ASSIGN(rope_, engine_->kernel("rope_append", hone::DType::kBF16,
                                       {{"tokens", s.sequences},
                                        {"heads", s.heads},
                                        {"group", s.group},
                                        {"positions", s.longest},
                                        {"slots", s.sequences * s.pages() * s.page},
                                        {"head", s.head}}));
    HONE_ASSIGN(decode_, engine_->kernel("decode", hone::DType::kBF16,
                                         {{"sequences", s.sequences},
                                          {"heads", s.heads},
                                          {"group", s.group},
                                          {"longest", s.longest},
                                          {"page", s.page},
                                          {"head", s.head}}));
    HONE_ASSIGN(to_out_, product(s.q_width(), s.width(), true));
    HONE_ASSIGN(to_inner_, product(s.width(), s.inner, false));
    HONE_ASSIGN(gated_, engine_->kernel("gated", hone::DType::kBF16, {{"n", s.sequences * s.inner}}));
    HONE_ASSIGN(to_down_, product(s.inner, s.width(), true));
    return {};
  }

  hone::Result<void> allocate(const Weights& weights, const std::vector<float>& angles) {
    const Sizes& s = sizes_;
    const auto put = [&](Place place, const auto& elements) -> hone::Result<void> {
      HONE_ASSIGN(arrays_[place], Array::of(engine_->memory(), elements));
      return {};
    };
    const auto zeros = [](std::int64_t count) { return Numbers(static_cast<std::size_t>(count)); };
    HONE_TRY(put(kAttentionNorm, weights.attention_norm));
    HONE_TRY(put(kToQ, weights.q));
    HONE_TRY(put(kToK, weights.k));
    HONE_TRY(put(kToV, weights.v));
    HONE_TRY(put(kToOut, weights.out));
    HONE_TRY(put(kMlpNorm, weights.mlp_norm));
    HONE_TRY(put(kToGate, weights.gate));
    HONE_TRY(put(kToUp, weights.up));
    HONE_TRY(put(kToDown, weights.down));
    HONE_TRY(put(kAngles, angles));
    // Pages of the sequences take turns, as if they had been handed out while all of them grew.
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      for (std::int64_t page = 0; page < s.pages(); ++page) {
        table_.push_back(static_cast<std::int32_t>(page * s.sequences + sequence));
      }
    }
    const std::vector<std::int32_t> of_each(static_cast<std::size_t>(s.sequences));
    HONE_TRY(put(kTable, table_));
    HONE_TRY(put(kPositions, of_each));
    HONE_TRY(put(kSlots, of_each));
    HONE_TRY(put(kLengths, of_each));
    HONE_TRY(put(kKeys, zeros(s.sequences * s.pages() * s.page * s.k_width())));
    HONE_TRY(put(kValues, zeros(s.sequences * s.pages() * s.page * s.k_width())));
    for (const Place place : {kHidden, kNormed, kMiddle}) {
      HONE_TRY(put(place, zeros(s.sequences * s.width())));
    }
    for (const Place place : {kQ, kRotated, kAttended}) {
      HONE_TRY(put(place, zeros(s.sequences * s.q_width())));
    }
    for (const Place place : {kK, kV}) {
      HONE_TRY(put(place, zeros(s.sequences * s.k_width())));
    }
    for (const Place place : {kGate, kUp, kGated}) {
      HONE_TRY(put(place, zeros(s.sequences * s.inner)));
    }
    return put(kLse, std::vector<float>(static_cast<std::size_t>(s.sequences * s.heads * s.group)));
  }

  /// Says where the next token of each sequence goes.
  hone::Result<void> place_tokens() {
    const auto count = static_cast<std::size_t>(sizes_.sequences);
    const std::vector<std::int32_t> positions(count, static_cast<std::int32_t>(length_));
    std::vector<std::int32_t> slots;
    for (std::int64_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
      const std::int32_t page = table_[static_cast<std::size_t>(sequence * sizes_.pages() + length_ / sizes_.page)];
      slots.push_back(static_cast<std::int32_t>(page * sizes_.page + length_ % sizes_.page));
    }
    const std::vector<std::int32_t> lengths(count, static_cast<std::int32_t>(++length_));
    hone::Memory& memory = engine_->memory();
    HONE_TRY(memory.upload(at(kPositions), std::as_bytes(std::span(positions))));
    HONE_TRY(memory.upload(at(kSlots), std::as_bytes(std::span(slots))));
    return memory.upload(at(kLengths), std::as_bytes(std::span(lengths)));
  }

  /// out = in weights^T, or added + in weights^T of a kernel that adds. There is no bias.
  hone::Result<void> multiply(const hone::Kernel& kernel, Place in, Place weights, Place added, Place out) const {
    return kernel.launch(nullptr, at(in), at(weights), at(added), at(added), at(out), 1.0F, 1.0F);
  }

  hone::Result<void> attend() const {
    const float scale = 1.0F / std::sqrt(static_cast<float>(sizes_.head));
    HONE_TRY(norm_->launch(nullptr, at(kHidden), at(kAttentionNorm), at(kNormed), kEpsilon));
    HONE_TRY(multiply(*to_q_, kNormed, kToQ, kHidden, kQ));
    HONE_TRY(multiply(*to_k_, kNormed, kToK, kHidden, kK));
    HONE_TRY(multiply(*to_k_, kNormed, kToV, kHidden, kV));
    HONE_TRY(rope_->launch(nullptr, at(kQ), at(kK), at(kV), at(kAngles), at(kPositions), at(kSlots), at(kRotated), at(kKeys), at(kValues)));
    HONE_TRY(decode_->launch(nullptr, at(kRotated), at(kKeys), at(kValues), at(kTable), at(kLengths), nullptr, nullptr, at(kAttended),
                             at(kLse), scale));
    return multiply(*to_out_, kAttended, kToOut, kHidden, kMiddle);
  }

  hone::Result<void> think() const {
    HONE_TRY(norm_->launch(nullptr, at(kMiddle), at(kMlpNorm), at(kNormed), kEpsilon));
    HONE_TRY(multiply(*to_inner_, kNormed, kToGate, kMiddle, kGate));
    HONE_TRY(multiply(*to_inner_, kNormed, kToUp, kMiddle, kUp));
    HONE_TRY(gated_->launch(nullptr, at(kGate), at(kUp), at(kGated)));
    return multiply(*to_down_, kGated, kToDown, kMiddle, kHidden);
  }

  hone::Engine* engine_;
  Sizes sizes_;
  std::array<Array, kPlaces> arrays_;
  std::vector<std::int32_t> table_;
  std::int64_t length_ = 0;  ///< tokens of each sequence so far
  std::optional<hone::Kernel> norm_, to_q_, to_k_, rope_, decode_, to_out_, to_inner_, gated_, to_down_;
};

}  // namespace decode_layer
