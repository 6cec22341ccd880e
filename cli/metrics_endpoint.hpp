#pragma once
// --metrics HOST:PORT: answers GET /metrics, for Prometheus to scrape.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hone/error.hpp"

namespace hone::cli {

/// Where to listen.
struct MetricsAddress {
  std::string host;  ///< a name or an address; an IPv6 address without its brackets
  std::uint16_t port = 0;
};
/// "127.0.0.1:9400", "[::1]:9400"; nothing where it is the path of a file.
std::optional<MetricsAddress> parse_metrics_address(std::string_view text);

/// One thread of the lowest priority. A scrape costs it a few hundred microseconds; whoever sends nothing, or too much, is dropped, and no
/// more than a few are served at once.
class MetricsEndpoint {
 public:
  /// `produce` is called in that thread, once for each scrape. `patience`: for a request to come and its answer to go. Errors: the address
  /// is none of this host's, or taken.
  static Result<std::unique_ptr<MetricsEndpoint>> start(const MetricsAddress& address, std::chrono::milliseconds patience,
                                                        std::function<std::string()> produce);
  virtual ~MetricsEndpoint() = default;
  /// http://HOST:PORT/metrics, with the port that was chosen where 0 was asked for.
  [[nodiscard]] virtual const std::string& url() const = 0;

 protected:
  MetricsEndpoint() = default;
};

}  // namespace hone::cli
