#include "cli/metrics_endpoint.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <vector>

namespace hone::cli {
namespace {

using boost::asio::ip::tcp;
constexpr auto kPatient = std::chrono::hours(1);

/// A connection to an endpoint.
class Client {
 public:
  explicit Client(const MetricsEndpoint& endpoint) : socket_(context_) {
    const std::string& url = endpoint.url();
    const auto colon = url.rfind(':');
    const std::string port = url.substr(colon + 1, url.rfind('/') - colon - 1);
    boost::asio::connect(socket_, tcp::resolver(context_).resolve("127.0.0.1", port));
  }
  void send(std::string_view text) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }
  /// All that comes until the other side closes.
  std::string rest() {
    std::string text;
    boost::system::error_code ended;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), ended);
    return text;
  }
  std::string ask(std::string_view request) {
    send(request);
    return rest();
  }

 private:
  boost::asio::io_context context_;
  tcp::socket socket_;
};

std::unique_ptr<MetricsEndpoint> started(
    std::chrono::milliseconds patience = kPatient, std::function<std::string()> produce = [] { return std::string("hone_x 1\n"); }) {
  auto endpoint = MetricsEndpoint::start({"127.0.0.1", 0}, patience, std::move(produce));
  REQUIRE_MESSAGE(endpoint.ok(), endpoint.error().message);
  return *std::move(endpoint);
}

std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

}  // namespace

TEST_CASE("an address is a host and a port; everything else is a file") {
  const auto plain = parse_metrics_address("127.0.0.1:9400");
  REQUIRE(plain);
  CHECK(plain->host == "127.0.0.1");
  CHECK(plain->port == 9400);
  CHECK(parse_metrics_address("[::1]:9400")->host == "::1");
  CHECK(parse_metrics_address("localhost:0")->port == 0);
  for (const std::string_view file : {"hone.prom", "folder/x:9400", "x:prom", "x:99999", ":9400", "a:b:9400", "host:", "host:12x", ""}) {
    CHECK_MESSAGE(!parse_metrics_address(file), file);
  }
}

TEST_CASE("GET /metrics gets what is told now") {
  std::atomic<int> scrapes = 0;
  const auto endpoint = started(kPatient, [&] { return "hone_x " + std::to_string(++scrapes) + "\n"; });
  const std::string answer = Client(*endpoint).ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != std::string::npos);
  CHECK(body(answer) == "hone_x 1\n");
  CHECK(body(Client(*endpoint).ask("GET /metrics?name=x HTTP/1.0\r\n\r\n")) == "hone_x 2\n");
  const std::string head = Client(*endpoint).ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(head.find("Content-Length: 9\r\n") != std::string::npos);
  CHECK(body(head).empty());
}

TEST_CASE("other paths, methods and what is no request get nothing told") {
  const auto endpoint = started();
  CHECK(Client(*endpoint).ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 404 "));
  CHECK(Client(*endpoint).ask("DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 405 "));
  CHECK(Client(*endpoint).ask("what is this\r\n\r\n").empty());
  CHECK(Client(*endpoint).ask("GET /metrics HTTP/1.1\r\nX: " + std::string(20000, 'x')).empty());
  CHECK(body(Client(*endpoint).ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")) == "hone_x 1\n");
}

TEST_CASE("who sends nothing does not keep others waiting, and is dropped") {
  const auto endpoint = started(std::chrono::milliseconds(200));
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 20; ++i) {  // more than are served at once
    silent.push_back(std::make_unique<Client>(*endpoint));
  }
  CHECK(body(Client(*endpoint).ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")) == "hone_x 1\n");
  CHECK(silent.front()->rest().empty());
}

TEST_CASE("an address that is taken, and one that is not this host's, are errors that name it") {
  const auto endpoint = started();
  const std::string& url = endpoint->url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  const auto taken = MetricsEndpoint::start({"127.0.0.1", port}, kPatient, [] { return std::string(); });
  REQUIRE(!taken);
  CHECK(taken.error().message.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
  const auto foreign = MetricsEndpoint::start({"192.0.2.1", 0}, kPatient, [] { return std::string(); });
  REQUIRE(!foreign);
  CHECK(foreign.error().message.find("192.0.2.1") != std::string::npos);
}

TEST_CASE("the end does not wait for a client") {
  auto endpoint = started();
  Client silent(*endpoint);
  endpoint.reset();
  CHECK(silent.rest().empty());
}

}  // namespace hone::cli
