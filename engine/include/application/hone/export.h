#ifndef HONE_EXPORT_H
#define HONE_EXPORT_H
/* What the shared library shows; all else is hidden in it. */

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

#endif
