#ifndef HONE_VERSION_H
#define HONE_VERSION_H
/* The version of these headers, for the preprocessor of C and C++. */

#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 2
#define HONE_VERSION_PATCH 0
#define HONE_VERSION "0.2.0"

#endif
