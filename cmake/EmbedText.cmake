# Writes OUTPUT, a C++ source that holds the bytes of INPUT as hone::embedded::SYMBOL. The bytes are written as escapes: CMake's strings
# do not carry semicolons, brackets and backslashes unharmed, and compilers limit the length of a literal.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "// NOLINTBEGIN(readability-identifier-naming)
#include <string_view>
namespace hone::embedded {
namespace {
constexpr char bytes_of_${SYMBOL}[] = {
${bytes}
0};
}
extern const std::string_view ${SYMBOL};
constinit const std::string_view ${SYMBOL}{bytes_of_${SYMBOL}, sizeof bytes_of_${SYMBOL} - 1};
}
// NOLINTEND(readability-identifier-naming)
")
