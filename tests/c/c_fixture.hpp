#pragma once
// Engines on the cpu device, as a C program has them, with handles that free themselves.

#include <memory>
#include <string>
#include <vector>

#include "hone/hone.h"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {

template <auto kFree>
struct Freeing {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
template <class T, auto kFree>
using Handle = std::unique_ptr<T, Freeing<kFree>>;
using CEngine = Handle<hone_engine, hone_engine_close>;
using CKernel = Handle<hone_kernel, hone_kernel_free>;
using CBound = Handle<hone_bound, hone_bound_free>;
using CBuffer = Handle<hone_buffer, hone_buffer_free>;
using CTexts = Handle<hone_texts, hone_texts_free>;
using CTuning = Handle<hone_tuning, hone_tuning_free>;
using CRecords = Handle<hone_records, hone_records_free>;

/// Receives the error of one call.
class Failure {
 public:
  ~Failure() { hone_error_free(error_); }
  Failure() = default;
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  hone_error** operator&() {  // NOLINT: it stands in for a pointer
    hone_error_free(error_);
    error_ = nullptr;
    return &error_;
  }
  [[nodiscard]] std::string message() const { return hone_error_message(error_); }
  [[nodiscard]] hone_status status() const { return hone_error_status(error_); }
  [[nodiscard]] bool says(std::string_view part) const { return contains(message(), part); }

 private:
  hone_error* error_ = nullptr;
};

/// A filled-in struct of options: all zero but its size.
template <class T>
T sized() {
  T options{};
  options.size = sizeof(T);
  return options;
}

inline CEngine open_cpu(const std::string& store = "/nonexistent/hone.db") {
  auto options = sized<hone_engine_options>();
  options.store = store.c_str();
  options.device = "cpu";
  hone_engine* engine = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(hone_engine_open(&options, &engine, &failure) == HONE_SUCCESS, failure.message());
  return CEngine(engine);
}

inline std::vector<hone_extent> rows_and_columns(std::int64_t rows, std::int64_t columns) { return {{"rows", rows}, {"cols", columns}}; }

inline CKernel find_softmax(hone_engine* engine, std::int64_t rows = 3, std::int64_t columns = 5) {
  const std::vector<hone_extent> shape = rows_and_columns(rows, columns);
  hone_kernel* found = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(hone_kernel_find(engine, "softmax", "f32", shape.data(), shape.size(), &found, &failure) == HONE_SUCCESS,
                  failure.message());
  return CKernel(found);
}

inline hone_kernel_info described(const hone_kernel* kernel) {
  auto info = sized<hone_kernel_info>();
  REQUIRE(hone_kernel_describe(kernel, &info, nullptr) == HONE_SUCCESS);
  return info;
}

inline CBuffer allocate(hone_engine* engine, std::size_t bytes) {
  hone_buffer* buffer = nullptr;
  REQUIRE(hone_buffer_allocate(engine, bytes, &buffer, nullptr) == HONE_SUCCESS);
  return CBuffer(buffer);
}

}  // namespace hone::test
