#pragma once
// hone help: what the command says of itself, its verbs and its topics.

#include <string>
#include <vector>

namespace hone::cli {

/// What `hone` alone says.
std::string help_text();
/// hone help [VERB|TOPIC] [--json], or --man: the manual page of all of it as roff.
int help(int argc, char** argv);
/// What `hone help` may be followed by.
std::vector<std::string> help_words();
/// Of a word that is neither a verb nor, if `help`, a topic: its error with the nearest, and the exit code.
int fail_unknown(const std::string& given, bool json, bool help);

}  // namespace hone::cli
