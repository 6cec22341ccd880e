// The worker process: runs trials for a tuner, which starts it with the number of its socket. Not for people.
#include "engine/worker/worker.hpp"

#include <cstdio>
#include <cstdlib>

#include "engine/plugin/registry.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("hone-worker is started by hone; its argument is the number of a socket\n", stderr);
    return 2;
  }
  return hone::serve_worker(std::atoi(argv[1]), hone::make_builtin_registry());
}
