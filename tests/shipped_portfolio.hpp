#pragma once
// A portfolio as the build embeds it.

#include <doctest/doctest.h>
#include <zlib.h>

#include <span>
#include <string>
#include <vector>

#include "engine/store/portfolio.hpp"

namespace hone::test {

/// Compressed by gzip.
struct Shipped {
  std::string source;
  std::vector<unsigned char> compressed;
  explicit Shipped(const Portfolio& portfolio) : source(text(portfolio)) {
    constexpr int kGzip = 15 + 16;
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    compressed.resize(deflateBound(&stream, source.size()));
    stream.next_in = reinterpret_cast<Bytef*>(source.data());
    stream.avail_in = static_cast<uInt>(source.size());
    stream.next_out = compressed.data();
    stream.avail_out = static_cast<uInt>(compressed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
  }
  [[nodiscard]] std::span<const unsigned char> span() const { return compressed; }
};

}  // namespace hone::test
