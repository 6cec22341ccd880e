# Writes OUTPUT, a C++ source that defines hone::FUNCTION() over the bytes of each of INPUTS (separated by |), compressed by gzip.
string(REPLACE "|" ";" inputs "${INPUTS}")
set(arrays "")
set(views "")
set(count 0)
foreach(input IN LISTS inputs)
  file(ARCHIVE_CREATE OUTPUT ${OUTPUT}.gz PATHS ${input} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9 MTIME 0)
  file(READ ${OUTPUT}.gz bytes HEX)
  file(REMOVE ${OUTPUT}.gz)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kText${count}[] = {\n${bytes}};\n")
  string(APPEND views "    std::span<const unsigned char>{kText${count}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include <array>
#include <span>
namespace hone {
std::span<const std::span<const unsigned char>> ${FUNCTION}();
namespace {
${arrays}
constexpr std::array<std::span<const unsigned char>, ${count}> kAllTexts{
${views}};
}
std::span<const std::span<const unsigned char>> ${FUNCTION}() { return kAllTexts; }
}
")
