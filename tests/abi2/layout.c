/* Where each field lies, as C sees it: built against the header of ABI 2 and against today's. */
#include "hone/plugin.h"

#define F(type, field) {#type "::" #field, offsetof(type, field), sizeof(((type*)0)->field)},
#define S(type) {"sizeof(" #type ")", 0, sizeof(type)},

struct place {
  const char* what;
  size_t offset, size;
};

extern const struct place LAYOUT[];
extern const size_t LAYOUT_COUNT;
const struct place LAYOUT[] = {
#include "layout.inc"
};
const size_t LAYOUT_COUNT = sizeof(LAYOUT) / sizeof(LAYOUT[0]);
