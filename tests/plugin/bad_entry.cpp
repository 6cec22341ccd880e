// Built several times: the entry throws (THROWING) or does not return (STALLING), or one of the tables it announces is null.
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
