#include "engine/worker/space_wire.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/digest.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/worker/fields.hpp"

namespace hone::wire {
namespace {

using Rows = std::vector<std::vector<std::uint16_t>>;

/// Where configurations lie, at positions spread over the space. A worker of another version may order them in another way.
std::string fingerprint(const SearchSpace& space) {
  const Count samples = std::min<Count>(space.size(), space.exact() ? 64 : 8);
  std::string places = hone::text(space.size());
  for (Count i = 0; i < samples; ++i) {
    const Count position = i + 1 == samples ? space.size() - 1 : space.size() / samples * i;
    for (const std::uint16_t digit : space.digits(position)) {
      places += ' ';
      places += std::to_string(digit);
    }
  }
  return digest(places);
}

std::string fingerprint(const SearchSpace& space, const LikelySpace* likely) {
  return fingerprint(space) + (likely != nullptr ? fingerprint(*likely->likely()) : "");
}

Message to_message(const Bindings& bindings) {
  Message message = Message::object();
  for (const auto& [name, value] : bindings) {
    message[name] = Expression::constant(value).serialize();
  }
  return message;
}

Result<Bindings> read_bindings(Fields& fields, const char* key) {
  Bindings bindings;
  for (const auto& [name, serialized] : fields.texts_by_name(key)) {
    HONE_ASSIGN(const Expression expression, Expression::parse(serialized));
    if (!expression.is_constant()) {
      return Error{ErrorCode::kInvalidArgument, name + " is bound to no value"};
    }
    bindings.emplace(name, expression.node().value);
  }
  return bindings;
}

Message rows_of(const SearchSpace& space) {
  const std::size_t width = space.parameters().size();
  const auto count = static_cast<std::size_t>(space.size());
  std::vector<std::uint16_t> digits(width * count);
  for (std::size_t i = 0; i < count; ++i) {
    space.digits(i, {digits.data() + i * width, width});
  }
  std::vector<std::uint8_t> bytes(digits.size() * sizeof(std::uint16_t));
  std::memcpy(bytes.data(), digits.data(), bytes.size());
  return Message::binary(std::move(bytes));
}

Rows read_rows(const Message::binary_t& bytes, std::size_t width) {
  Rows rows(width == 0 ? 0 : bytes.size() / (width * sizeof(std::uint16_t)), std::vector<std::uint16_t>(width));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(rows[i].data(), bytes.data() + i * width * sizeof(std::uint16_t), width * sizeof(std::uint16_t));
  }
  return rows;
}

Result<BuiltSpace> from_rows(const KernelSpec& made_of, const Rows& rows, bool is_expected, Bindings fixed) {
  HONE_ASSIGN(SearchSpace built, SearchSpace::from_rows(made_of.parameters, rows));
  BuiltSpace space{std::make_shared<const SearchSpace>(std::move(built)), nullptr};
  if (is_expected) {
    HONE_ASSIGN(LikelySpace likely, LikelySpace::of_recorded(space.space, made_of.expectations, std::move(fixed)));
    space.likely = std::make_shared<const LikelySpace>(std::move(likely));
  }
  return space;
}

Result<BuiltSpace> from_constraints(const KernelSpec& made_of, bool is_expected, Bindings fixed) {
  if (!is_expected) {
    HONE_ASSIGN(SearchSpace built, SearchSpace::build(made_of.parameters, made_of.constraints, fixed));
    return BuiltSpace{std::make_shared<const SearchSpace>(std::move(built)), nullptr};
  }
  HONE_ASSIGN(LikelySpace built, LikelySpace::build(made_of.parameters, made_of.constraints, made_of.expectations, std::move(fixed)));
  const auto likely = std::make_shared<const LikelySpace>(std::move(built));
  return BuiltSpace{likely->legal(), likely};
}

}  // namespace

Message to_message(const SearchSpace& space, const LikelySpace* likely) {
  KernelSpec made_of;
  made_of.parameters = space.parameters();
  Bindings fixed;
  if (const SpaceRecipe* const recipe = space.recipe()) {
    made_of.constraints = recipe->constraints;
    fixed = recipe->fixed;
  }
  if (likely != nullptr) {
    made_of.expectations = likely->expectations();
    fixed = likely->fixed();
  }
  Message message{{"spec", made_of.serialize()},
                  {"fixed", to_message(fixed)},
                  {"expected", likely != nullptr},
                  {"fingerprint", fingerprint(space, likely)}};
  if (space.recipe() == nullptr) {
    message["rows"] = rows_of(space);
  }
  return message;
}

Result<BuiltSpace> read_space(const Message& message) {
  Fields fields(message);
  const bool is_expected = fields.boolean("expected");
  const std::string fingerprint_of_sender = fields.text("fingerprint");
  const Message::binary_t* const rows = fields.has("rows") ? fields.binary("rows") : nullptr;
  HONE_ASSIGN(Bindings fixed, read_bindings(fields, "fixed"));
  if (fields.error()) {
    return *fields.error();
  }
  HONE_ASSIGN(const KernelSpec made_of, parse_kernel_spec(message.at("spec").get<std::string>()));  // longer than a text may be
  HONE_ASSIGN(BuiltSpace built, rows != nullptr
                                    ? from_rows(made_of, read_rows(*rows, made_of.parameters.size()), is_expected, std::move(fixed))
                                    : from_constraints(made_of, is_expected, std::move(fixed)));
  if (fingerprint(*built.space, built.likely.get()) != fingerprint_of_sender) {
    return Error{ErrorCode::kPlugin, "the worker builds another search space than hone; are hone and hone-worker of one version?"};
  }
  return built;
}

}  // namespace hone::wire
