#pragma once
// The verbs of the command. Each takes its own arguments (argv[0] is the verb) and returns the exit code.

#include <span>
#include <string_view>

namespace hone::cli {

struct Verb {
  std::string_view name, summary;
  int (*run)(int argc, char** argv);
};

int devices(int argc, char** argv);
int kernels(int argc, char** argv);
int space(int argc, char** argv);
int tune(int argc, char** argv);
int compare(int argc, char** argv);
int strategies(int argc, char** argv);
int best(int argc, char** argv);
int run(int argc, char** argv);
int check(int argc, char** argv);
int verify(int argc, char** argv);
int bench(int argc, char** argv);
int export_plan(int argc, char** argv);
int records(int argc, char** argv);
int sessions(int argc, char** argv);
int report_sessions(int argc, char** argv);
int portfolios(int argc, char** argv);
int warm_up(int argc, char** argv);
int store_upkeep(int argc, char** argv);
int serve_trials(int argc, char** argv);
int trust(int argc, char** argv);
int completion(int argc, char** argv);
int doctor(int argc, char** argv);

std::span<const Verb> verbs();

}  // namespace hone::cli
