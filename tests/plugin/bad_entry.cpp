// Built several times: the entry throws (THROWING), does not return (STALLING), or reserves addresses as the runtime of a GPU does
// (RESERVING), which is nothing bad; or one of the tables it announces is null.
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "hone/plugin.h"

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
#ifdef THROWING
  throw std::runtime_error("no licence here");
#elif defined(STALLING)
  for (;;) {
    pause();
  }
#elif defined(RESERVING)
  constexpr std::size_t kReserved = std::size_t{256} << 30;
  if (mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    throw std::runtime_error("no addresses for the runtime");
  }
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = "reserving",
                                  .version = "1.0",
                                  .strategies = nullptr,
                                  .strategy_count = 0,
                                  .devices = nullptr,
                                  .device_count = 0};
  return &plugin;
#else
  static const hone_strategy* const strategies[] = {nullptr};
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = "hollow",
                                  .version = "1.0",
                                  .strategies = strategies,
                                  .strategy_count = 1,
                                  .devices = nullptr,
                                  .device_count = 0};
  return &plugin;
#endif
}
