#include "cli/metrics_endpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <thread>

namespace hone::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::size_t kMostAtOnce = 8;           // connections; further ones wait in the system's queue
constexpr std::uint32_t kLongestRequest = 8192;  // bytes of its header

/// Workers must not hold the port, nor a client's connection, when this process is gone.
void keep_from_children(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

class Endpoint final : public MetricsEndpoint {
 public:
  Endpoint(std::chrono::milliseconds patience, std::function<std::string()> produce) : patience_(patience), produce_(std::move(produce)) {}
  ~Endpoint() override {
    context_.stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  Result<void> open(const MetricsAddress& address) {
    boost::system::error_code failed;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, failed);
    if (!failed) {
      for (const auto& one : found) {  // a name may have an address of a kind that this host does not have
        listen(one.endpoint(), failed);
        if (!failed) {
          break;
        }
        boost::system::error_code ignored;
        acceptor_.close(ignored);
      }
    }
    if (failed) {
      return Error{ErrorCode::kIo,
                   fmt::format("--metrics {}:{}: it cannot be listened on: {}", address.host, address.port, failed.message())};
    }
    const bool is_v6 = address.host.find(':') != std::string::npos;
    url_ = fmt::format("http://{}{}{}:{}/metrics", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", acceptor_.local_endpoint().port());
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::jthread([this] {
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowestPriority);
      context_.run();
    });
    return {};
  }

  [[nodiscard]] const std::string& url() const override { return url_; }

 private:
  static constexpr int kLowestPriority = 19;

  void listen(const tcp::endpoint& where, boost::system::error_code& failed) {
    acceptor_.open(where.protocol(), failed);
    if (failed) {
      return;
    }
    keep_from_children(acceptor_.native_handle());
    acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
    acceptor_.bind(where, failed);
    if (!failed) {
      acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      boost::system::error_code failed;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (failed) {
        co_await pause();  // no descriptor is left, say
        continue;
      }
      keep_from_children(socket.native_handle());
      ++serving_;
      asio::co_spawn(context_, serve(std::move(socket)), asio::detached);
      while (serving_ >= kMostAtOnce) {
        co_await pause();
      }
    }
  }

  asio::awaitable<void> pause() {
    asio::steady_timer timer(context_, std::chrono::milliseconds(50));
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    stream.expires_after(patience_);
    beast::flat_buffer buffer(kLongestRequest);
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kLongestRequest);
    boost::system::error_code failed;
    co_await http::async_read_header(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, failed));
    if (!failed) {
      const http::response<http::string_body> answer = answer_to(parser.get());
      co_await http::async_write(stream, answer, asio::redirect_error(asio::use_awaitable, failed));
      stream.socket().shutdown(tcp::socket::shutdown_send, failed);
    }
    --serving_;
  }

  http::response<http::string_body> answer_to(const http::request<http::empty_body>& request) const {
    http::response<http::string_body> answer(http::status::ok, request.version());
    answer.set(http::field::content_type, "text/plain; charset=utf-8");
    answer.keep_alive(false);
    const std::string_view path(request.target().data(), request.target().size());
    const bool reads = request.method() == http::verb::get || request.method() == http::verb::head;
    if (!reads) {
      answer.result(http::status::method_not_allowed);
      answer.set(http::field::allow, "GET, HEAD");
      answer.body() = "only GET\n";
    } else if (path.substr(0, path.find('?')) != "/metrics") {
      answer.result(http::status::not_found);
      answer.body() = "the metrics are at /metrics\n";
    } else {
      answer.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
      answer.body() = produce_();
    }
    answer.prepare_payload();
    if (request.method() == http::verb::head) {
      answer.body().clear();  // its length stays
    }
    return answer;
  }

  const std::chrono::milliseconds patience_;
  const std::function<std::string()> produce_;
  std::string url_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  std::size_t serving_ = 0;
  std::jthread thread_;
};

}  // namespace

std::optional<MetricsAddress> parse_metrics_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || text.find('/') != std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return status == std::errc() && end == digits.data() + digits.size() ? std::optional(MetricsAddress{std::string(host), port})
                                                                       : std::nullopt;
}

Result<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::start(const MetricsAddress& address, std::chrono::milliseconds patience,
                                                                std::function<std::string()> produce) {
  auto endpoint = std::make_unique<Endpoint>(patience, std::move(produce));
  HONE_TRY(endpoint->open(address));
  return std::unique_ptr<MetricsEndpoint>(std::move(endpoint));
}

}  // namespace hone::cli
