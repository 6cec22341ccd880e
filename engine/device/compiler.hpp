#pragma once
// What compiles candidates, and what comes of it.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"

namespace hone {

/// Compiled code: opaque bytes (a cubin, a shared object) and the symbols in it.
struct Artifact {
  std::string digest;  ///< 32 hex digits over `bytes`
  std::vector<std::byte> bytes;
};

/// One configuration's part of an artifact.
struct Compiled {
  std::shared_ptr<const Artifact> artifact;
  std::vector<std::string> symbols;  ///< one per pass, of the kernel or of the reference
  Resources resources;
  std::string intermediate = {};  ///< what the compiler made on the way, as text (PTX): if it was wanted, and the compiler has one
};

struct CompileRequest {
  const KernelSpec* spec = nullptr;
  DTypes dtype;
  std::vector<Configuration> configurations;  ///< empty with `reference`
  bool reference = false;                     ///< compile the reference instead
  bool intermediate = false;                  ///< Compiled::intermediate is wanted, too
  Shape shape = {};                           ///< of the problem: its STATIC fields are compiled in; those it lacks with their defaults
};

/// Compiles for one device without touching it: may run in any process. Not thread-safe; one per thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// One entry per configuration (one in all for a reference). A configuration that fails does not spoil the others of its batch.
  virtual std::vector<Result<Compiled>> compile(const CompileRequest& request) = 0;
};

}  // namespace hone
