#include "cache/postgres/libpq.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace hone::cache {
namespace {

/// Sets `function` to that of the name; `missing` keeps the first one that is not there.
template <class Function>
void bind(void* library, Function& function, const char* name, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing.empty()) {
    missing = name;
  }
}

Result<Libpq> load() {
  void* const library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);  // stays open: the connections' code
  if (library == nullptr) {
    const char* const why = dlerror();
    return Error{ErrorCode::kUnavailable, fmt::format("a store on PostgreSQL needs libpq, which is not here ({}): apt install libpq5",
                                                      why == nullptr ? "libpq.so.5" : why)};
  }
  Libpq pq;
  std::string missing;
  bind(library, pq.conninfoParse, "PQconninfoParse", missing);
  bind(library, pq.conninfoFree, "PQconninfoFree", missing);
  bind(library, pq.connectdbParams, "PQconnectdbParams", missing);
  bind(library, pq.finish, "PQfinish", missing);
  bind(library, pq.reset, "PQreset", missing);
  bind(library, pq.status, "PQstatus", missing);
  bind(library, pq.errorMessage, "PQerrorMessage", missing);
  bind(library, pq.serverVersion, "PQserverVersion", missing);
  bind(library, pq.setNoticeProcessor, "PQsetNoticeProcessor", missing);
  bind(library, pq.exec, "PQexec", missing);
  bind(library, pq.execParams, "PQexecParams", missing);
  bind(library, pq.resultStatus, "PQresultStatus", missing);
  bind(library, pq.resultErrorField, "PQresultErrorField", missing);
  bind(library, pq.clear, "PQclear", missing);
  bind(library, pq.ntuples, "PQntuples", missing);
  bind(library, pq.ftype, "PQftype", missing);
  bind(library, pq.getvalue, "PQgetvalue", missing);
  bind(library, pq.getlength, "PQgetlength", missing);
  bind(library, pq.getisnull, "PQgetisnull", missing);
  bind(library, pq.cmdTuples, "PQcmdTuples", missing);
  bind(library, pq.cmdStatus, "PQcmdStatus", missing);
  bind(library, pq.socket, "PQsocket", missing);
  bind(library, pq.consumeInput, "PQconsumeInput", missing);
  bind(library, pq.notifies, "PQnotifies", missing);
  bind(library, pq.freemem, "PQfreemem", missing);
  if (!missing.empty()) {
    return Error{ErrorCode::kUnavailable, fmt::format("libpq.so.5 lacks {}: update libpq (apt install libpq5)", missing)};
  }
  return pq;
}

}  // namespace

Result<const Libpq*> Libpq::open() {
  static const Result<Libpq> opened = load();
  return opened ? Result<const Libpq*>(&*opened) : opened.error();
}

}  // namespace hone::cache
