#pragma once
// libpq, opened at run time: of its functions those that a store needs, declared here so that nothing is needed to build.

#include "hone/error.hpp"

namespace hone::cache {

struct PGconn;
struct PGresult;

/// The functions, by libpq's own names without PQ.
struct Libpq {
  void* (*conninfoParse)(const char* text, char** error) = nullptr;  ///< null: it cannot be read
  void (*conninfoFree)(void*) = nullptr;
  PGconn* (*connectdbParams)(const char* const* keywords, const char* const* values, int expand) = nullptr;
  void (*finish)(PGconn*) = nullptr;
  void (*reset)(PGconn*) = nullptr;
  int (*status)(const PGconn*) = nullptr;  ///< 0: the connection is good
  char* (*errorMessage)(const PGconn*) = nullptr;
  int (*serverVersion)(const PGconn*) = nullptr;  ///< 150008: 15.8
  void (*(*setNoticeProcessor)(PGconn*, void (*)(void*, const char*), void*))(void*, const char*) = nullptr;
  PGresult* (*exec)(PGconn*, const char* sql) = nullptr;
  PGresult* (*execParams)(PGconn*, const char* sql, int count, const unsigned* types, const char* const* values, const int* lengths,
                          const int* formats, int result_format) = nullptr;
  int (*resultStatus)(const PGresult*) = nullptr;
  char* (*resultErrorField)(const PGresult*, int field) = nullptr;
  void (*clear)(PGresult*) = nullptr;
  int (*ntuples)(const PGresult*) = nullptr;
  unsigned (*ftype)(const PGresult*, int column) = nullptr;
  char* (*getvalue)(const PGresult*, int row, int column) = nullptr;
  int (*getlength)(const PGresult*, int row, int column) = nullptr;
  int (*getisnull)(const PGresult*, int row, int column) = nullptr;
  char* (*cmdTuples)(PGresult*) = nullptr;
  char* (*cmdStatus)(PGresult*) = nullptr;  ///< "COMMIT"
  int (*socket)(const PGconn*) = nullptr;
  int (*consumeInput)(PGconn*) = nullptr;  ///< 0: the connection is in trouble
  void* (*notifies)(PGconn*) = nullptr;    ///< a notice, to be freed; null: there is none
  void (*freemem)(void*) = nullptr;

  /// Of this process. Errors, kUnavailable: libpq is not installed.
  static Result<const Libpq*> open();
};

}  // namespace hone::cache
