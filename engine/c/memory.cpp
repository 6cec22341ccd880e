#include <span>

#include "engine/c/engine.hpp"
#include "engine/runtime/access.hpp"

struct hone_buffer {
  std::shared_ptr<hone::Buffer> memory;  ///< freed by the process that allocated it alone: a fork has no such memory on the device
};

namespace hone::c {
namespace {

/// Both ends of what is moved, where there is anything.
void need_ends(const void* to, const void* from, std::size_t bytes, const char* to_name, const char* from_name) {
  if (bytes > 0) {
    need(static_cast<const std::byte*>(to), to_name);
    need(static_cast<const std::byte*>(from), from_name);
  }
}

/// Of an engine that is used in its own process.
Result<Memory*> memory_of(hone_engine* engine) {
  Engine& known = need(engine, "engine").engine;
  HONE_TRY(Access::core(known).origin().check());
  return &known.memory();
}

}  // namespace
}  // namespace hone::c

using namespace hone;

hone_status hone_buffer_allocate(hone_engine* engine, size_t bytes, hone_buffer** buffer, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(buffer, "buffer");
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    HONE_ASSIGN(std::unique_ptr<Buffer> allocated, memory->allocate(bytes));
    *buffer = new hone_buffer{shared_in_process(std::move(allocated), Access::core(engine->engine).origin())};
    return {};
  });
}
void hone_buffer_free(hone_buffer* buffer) { delete buffer; }
void* hone_buffer_address(const hone_buffer* buffer) { return buffer == nullptr ? nullptr : buffer->memory->address(); }
size_t hone_buffer_bytes(const hone_buffer* buffer) { return buffer == nullptr ? 0 : buffer->memory->bytes(); }

hone_status hone_upload(hone_engine* engine, void* to_device, const void* from_host, size_t bytes, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    c::need_ends(to_device, from_host, bytes, "to_device", "from_host");
    return memory->upload(to_device, {static_cast<const std::byte*>(from_host), bytes});
  });
}

hone_status hone_download(hone_engine* engine, void* to_host, const void* from_device, size_t bytes, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    c::need_ends(to_host, from_device, bytes, "to_host", "from_device");
    return memory->download({static_cast<std::byte*>(to_host), bytes}, from_device);
  });
}

hone_status hone_copy(hone_engine* engine, void* to_device, const void* from_device, size_t bytes, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    c::need_ends(to_device, from_device, bytes, "to_device", "from_device");
    return memory->copy(to_device, from_device, bytes);
  });
}

hone_status hone_fill(hone_engine* engine, void* device, uint8_t pattern, size_t bytes, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    c::need_ends(device, device, bytes, "device", "device");
    return memory->fill(device, bytes, pattern);
  });
}

hone_status hone_synchronize(hone_engine* engine, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(Memory* const memory, c::memory_of(engine));
    return memory->synchronize();
  });
}
