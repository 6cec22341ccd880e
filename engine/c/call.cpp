#include "engine/c/call.hpp"

#include <array>
#include <exception>

#include "hone/dtype.hpp"

namespace hone::c {
namespace {

/// What there is no memory for.
hone_error no_memory{HONE_ERROR_OUT_OF_MEMORY, "no memory left"};  // short enough to lie inside the string

/// `function` is null where the message says where it is from.
hone_status fail(hone_error** error, hone_status status, const char* function, std::string_view message) noexcept {
  if (error != nullptr) {
    try {
      *error = new hone_error{status, (function != nullptr ? std::string(function) + ": " : std::string()) + std::string(message)};
    } catch (const std::bad_alloc&) {
      *error = &no_memory;
    }
  }
  return status;
}

constexpr std::array<const char*, 17> kStatusNames{"success", "invalid argument", "not found", "bad kernel",    "empty space", "i/o",
                                                   "store",   "unavailable",      "compile",   "launch",        "device",      "timeout",
                                                   "plugin",  "cancelled",        "contract",  "out of memory", "internal"};

/// Of the exception that is being handled.
hone_status fail_by_exception(hone_error** error, const char* function) noexcept {
  try {
    throw;
  } catch (const ContractError& broken) {
    return fail(error, HONE_ERROR_CONTRACT, function, broken.what());
  } catch (const std::bad_alloc&) {
    return fail(error, HONE_ERROR_OUT_OF_MEMORY, function, no_memory.message);
  } catch (const std::exception& other) {
    return fail(error, HONE_ERROR_INTERNAL, function, other.what());
  } catch (...) {
    return fail(error, HONE_ERROR_INTERNAL, function, "an exception of an unknown type");
  }
}

}  // namespace

hone_status call_work(hone_error** error, const char* function, Result<void> (*work)(const void*), const void* context) noexcept {
  static_assert(static_cast<int>(ErrorCode::kInvalidArgument) + 1 == HONE_ERROR_INVALID_ARGUMENT &&
                static_cast<int>(ErrorCode::kCancelled) + 1 == HONE_ERROR_CANCELLED);
  try {
    if (error != nullptr) {
      *error = nullptr;
    }
    const Result<void> done = work(context);
    return done ? HONE_SUCCESS : fail(error, static_cast<hone_status>(done.error().code) + 1, nullptr, done.error().message);
  } catch (...) {
    return fail_by_exception(error, function);
  }
}

void refuse(const char* what, const char* why) { throw ContractError(fmt::format("{} {}", what, why)); }

std::vector<std::string> texts_of(const char* const* first, std::size_t count, const char* what) {
  std::vector<std::string> all;
  for (const char* const text : need_all(first, count, what)) {
    all.emplace_back(need_text(text, what));
  }
  return all;
}

std::size_t size_of_struct(const void* given, const char* what) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  constexpr std::size_t kMost = 1 << 12;  // what was never set is anything
  if (size < sizeof size || size % 8 != 0 || size > kMost) {
    throw ContractError(fmt::format("{} has a size of {}, which no version of it has: set its field `size` to its sizeof", what, size));
  }
  return size;
}

void refuse_unknown(const void* given, std::size_t known, std::size_t size, const char* what) {
  const auto* const bytes = static_cast<const std::byte*>(given);
  if (size > known && std::any_of(bytes + known, bytes + size, [](std::byte byte) { return byte != std::byte{0}; })) {
    throw ContractError(
        fmt::format("{} sets a field that Hone {} does not know: it is of a newer header. Install the newer Hone, or leave the field 0",
                    what, HONE_VERSION));
  }
}

}  // namespace hone::c

using namespace hone;

const char* hone_error_message(const hone_error* error) { return error == nullptr ? "" : error->message.c_str(); }
hone_status hone_error_status(const hone_error* error) { return error == nullptr ? HONE_SUCCESS : error->status; }
void hone_error_free(hone_error* error) {
  if (error != &c::no_memory) {
    delete error;
  }
}
const char* hone_status_name(hone_status status) {
  return status >= 0 && static_cast<std::size_t>(status) < c::kStatusNames.size() ? c::kStatusNames[static_cast<std::size_t>(status)]
                                                                                  : "unknown";
}

const char* hone_version(void) { return HONE_VERSION; }

const char* hone_type_name(hone_type type) {
  // Names are literals, with the zero that ends them.
  return type >= HONE_TYPE_F32 && type <= HONE_TYPE_U4X2 ? name(static_cast<DType>(type - 1)).data() : "";
}
size_t hone_type_size(hone_type type) {
  return type >= HONE_TYPE_F32 && type <= HONE_TYPE_U4X2 ? size_of(static_cast<DType>(type - 1)) : 0;
}

size_t hone_texts_count(const hone_texts* texts) { return texts == nullptr ? 0 : texts->all.size(); }
const char* hone_texts_get(const hone_texts* texts, size_t index) {
  return index < hone_texts_count(texts) ? texts->all[index].c_str() : nullptr;
}
void hone_texts_free(hone_texts* texts) { delete texts; }
