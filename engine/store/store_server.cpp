#include "engine/store/store_server.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>

namespace hone {

bool is_store_server(const std::filesystem::path& store) {
  const std::string& text = store.native();
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

std::string store_name(const std::filesystem::path& store) {
  std::string name = store.native();
  if (!is_store_server(store)) {
    return name;
  }
  // Of a URL that somebody mistyped it is not known where the password ends: rather too much is left out.
  const std::size_t user = name.find("://") + 3, at = name.rfind('@');
  if (at != std::string::npos && at >= user) {
    const std::size_t colon = name.find(':', user);
    name.erase(std::min(colon, at), at - std::min(colon, at));
  }
  constexpr std::string_view kPassword = "password=";  // also of sslpassword
  for (std::size_t next = 0; (next = name.find(kPassword, next)) != std::string::npos;) {
    next += kPassword.size();
    name.erase(next, name.find('&', next) - next);
  }
  return name;
}

bool may_have_store(const std::filesystem::path& store) {
  std::error_code failed;
  return is_store_server(store) || std::filesystem::exists(store, failed);
}

Error needs_a_file(const std::filesystem::path& store) {
  return {ErrorCode::kStore,
          "the store " + store_name(store) +
              " is on a server, and a launch does not wait for a network: make a file of it with hone store pull --store "
              "URL --out FILE, and open that (HONE_STORE, EngineOptions::store)"};
}

}  // namespace hone
