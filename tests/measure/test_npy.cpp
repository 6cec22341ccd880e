#include <doctest/doctest.h>

#include <cstring>

#include "engine/measure/npy.hpp"

using hone::measure::parse_npy;

namespace {

/// As numpy.save writes it.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  text += version == 1 ? "" : std::string(2, '\0');
  return text + header + data;
}

std::string npy_header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }   \n";
}

std::string npy_error(const std::string& text) {
  const auto array = parse_npy(text, "x.npy");
  return array ? "(no error)" : array.error().message;
}

bool npy_says(const std::string& text, const std::string& part) {
  const std::string error = npy_error(text);
  CAPTURE(error);
  return error.starts_with("x.npy: ") && error.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an array is read with its type, its shape and its elements") {
  const float values[] = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  for (const char version : {char{1}, char{2}, char{3}}) {
    const auto array = parse_npy(npy(npy_header("<f4", "(2, 3)"), data, version), "x.npy");
    REQUIRE_MESSAGE(array.ok(), array.error().message);
    CHECK(array->kind == 'f');
    CHECK(array->width == 4);
    CHECK(array->shape == std::vector<std::int64_t>{2, 3});
    CHECK(array->count() == 6);
    REQUIRE(array->bytes.size() == sizeof(values));
    CHECK(std::string_view(reinterpret_cast<const char*>(array->bytes.data()), array->bytes.size()) == data);
  }
  CHECK(parse_npy(npy(npy_header("|b1", "()"), "\x01"), "x.npy")->shape.empty());
  CHECK(parse_npy(npy(npy_header("<f4", "(6,)", "True"), data), "x.npy").ok());  // one axis has one order
  CHECK(parse_npy(npy(npy_header("<i8", "(0, 4)"), ""), "x.npy")->count() == 0);
}

TEST_CASE("what is no array of plain numbers is refused, with what to save instead") {
  CHECK(npy_says("PK\x03\x04", "not a .npy file"));
  CHECK(npy_says("", "not a .npy file"));
  CHECK(npy_says(npy(npy_header("<f4", "(2,)"), "12345678", 7), "version 7"));
  CHECK(npy_says(npy(npy_header(">f4", "(2,)"), "12345678"), "save a.astype('<f4')"));
  CHECK(npy_says(npy(npy_header("<c8", "(1,)"), "12345678"), "type '<c8'"));
  CHECK(npy_says(npy(npy_header("|O", "(1,)"), "12345678"), "type '|O'"));
  CHECK(npy_says(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "1234"), "header cannot be read"));
  CHECK(npy_says(npy(npy_header("<f4", "(2, 2)", "True"), std::string(16, '\0')), "numpy.ascontiguousarray"));
  CHECK(npy_says(npy(npy_header("<f4", "(3,)"), "12345678"), "holds 8 bytes of elements; its shape and type make 12"));
  CHECK(npy_says(npy(npy_header("<f4", "(1,)"), "12345678"), "make 4"));
  CHECK(npy_says(npy(npy_header("<f4", "(4294967296, 4294967296, 4294967296)"), ""), "too large"));
  CHECK(npy_says(npy(npy_header("<f4", "(-1,)"), ""), "header cannot be read"));
  CHECK(npy_says(npy("{'descr': '<f4', 'shape': (1,), }\n", "1234"), "header cannot be read"));
  std::string cut = npy(npy_header("<f4", "(2,)"), "");
  cut.resize(30);
  CHECK(npy_says(cut, "ends within its header"));
}
