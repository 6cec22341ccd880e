#include "hone/plugin.h"

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI + 1,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = "of another time",
                                  .version = "",
                                  .strategies = nullptr,
                                  .strategy_count = 1,
                                  .devices = nullptr,
                                  .device_count = 0};
  return &plugin;
}
