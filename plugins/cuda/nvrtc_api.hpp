#pragma once
// The part of NVRTC's interface that Hone uses, in our own words: the compiler is opened at run time.

#include <cstddef>

namespace hone::cuda {

struct ProgramTag;
using ProgramHandle = ProgramTag*;  ///< nvrtcProgram

struct NvrtcApi {
  const char* (*get_error_string)(int);
  int (*version)(int* major, int* minor);
  int (*create_program)(ProgramHandle*, const char* source, const char* name, int header_count, const char* const* headers,
                        const char* const* header_names);
  int (*destroy_program)(ProgramHandle*);
  int (*compile_program)(ProgramHandle, int option_count, const char* const* options);
  int (*get_ptx_size)(ProgramHandle, std::size_t*);
  int (*get_ptx)(ProgramHandle, char*);
  int (*get_cubin_size)(ProgramHandle, std::size_t*);
  int (*get_cubin)(ProgramHandle, char*);
  int (*get_program_log_size)(ProgramHandle, std::size_t*);
  int (*get_program_log)(ProgramHandle, char*);
  int (*add_name_expression)(ProgramHandle, const char*);
  int (*get_lowered_name)(ProgramHandle, const char* expression, const char** lowered);
};

}  // namespace hone::cuda
