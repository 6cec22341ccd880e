#include "engine/store/store_server.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace hone {
namespace {

/// Whether a text begins as a URL does. What has a slash before its :// is a path: ./a://b, /a://b.
bool has_scheme(const std::string& text) {
  const std::size_t end = text.find("://");
  return end != std::string::npos && text.find('/') == end + 1;
}

bool has_known_scheme(const std::string& text) { return text.starts_with("postgres://") || text.starts_with("postgresql://"); }

/// Where the user and the password of a URL end, as libpq reads it: the first @ before a slash.
std::size_t user_end(const std::string& url, std::size_t user) {
  const std::size_t end = url.find_first_of("@/", user);
  return end != std::string::npos && url[end] == '@' ? end : std::string::npos;
}

bool has_plain_user(const std::string& url) { return url.rfind('@') == user_end(url, url.find("://") + 3); }

/// Of a keyword in a URL, which libpq decodes as well.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const bool escaped = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3;
    plain += escaped ? static_cast<char>(byte) : text[i];
    i += escaped ? 2 : 0;
  }
  return plain;
}

}  // namespace

double lease_seconds() {
  constexpr double kUsual = 30.0, kLeast = 0.5, kMost = 3600.0;
  const char* const text = std::getenv("HONE_LEASE_SECONDS");
  const double given = text == nullptr ? kUsual : std::atof(text);
  return given >= kLeast && given <= kMost ? given : kUsual;
}

double heartbeat_seconds() {
  constexpr double kBeats = 6.0;  // of which some may be late
  return lease_seconds() / kBeats;
}

bool is_store_server(const std::filesystem::path& store) { return has_scheme(store.native()); }

bool is_plain_url(const std::string& url) { return has_known_scheme(url) && has_plain_user(url); }

std::string store_name(const std::filesystem::path& store) {
  std::string name = store.native();
  if (!is_store_server(store)) {
    return name;
  }
  const std::size_t user = name.find("://") + 3;
  // Of a URL that somebody mistyped it is not known where the password ends: rather too much is left out.
  std::size_t end = has_plain_user(name) ? user_end(name, user) : name.rfind('@');
  if (end == std::string::npos) {
    end = user;
  } else if (const std::size_t colon = name.find(':', user); colon < end) {
    name.erase(colon, end - colon);
    end = colon;
  }
  for (std::size_t next = name.find('?', end); next != std::string::npos; next = name.find('&', next)) {
    const std::size_t keyword = next + 1, equals = name.find_first_of("=&", keyword);
    next = keyword;
    if (equals == std::string::npos || name[equals] == '&') {
      continue;
    }
    if (decoded(name.substr(keyword, equals - keyword)).ends_with("password")) {  // also sslpassword
      name.erase(equals + 1, name.find('&', equals) - equals - 1);
    }
  }
  return name;
}

bool may_have_store(const std::filesystem::path& store) {
  std::error_code failed;
  return is_store_server(store) || std::filesystem::exists(store, failed);
}

Error needs_a_file(const std::filesystem::path& store) {
  if (!has_known_scheme(store.native())) {
    return {ErrorCode::kInvalidArgument, "the store " + store_name(store) +
                                             " cannot be opened: a URL begins with postgres:// or postgresql://, and what has no :// is "
                                             "the path of a file"};
  }
  return {ErrorCode::kStore,
          "the store " + store_name(store) +
              " is on a server, and a launch does not wait for a network: make a file of it with hone store pull --store "
              "URL --out FILE, and open that (HONE_STORE, EngineOptions::store)"};
}

}  // namespace hone
