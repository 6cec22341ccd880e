# Every library Hone builds with; docs/dependencies.md says what each is for.
if(HONE_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Boost_USE_STATIC_LIBS ON)
endif()
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(SQLite3 3.37 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_package(cxxopts REQUIRED)
# libclang is opened at run time; its header gives the types.
find_path(LIBCLANG_INCLUDE_DIR clang-c/Index.h REQUIRED
  PATHS /usr/lib/llvm-20/include /usr/lib/llvm-19/include /usr/lib/llvm-18/include /usr/lib/llvm-17/include)
if(HONE_BUILD_TESTS)
  find_package(doctest REQUIRED)
endif()
