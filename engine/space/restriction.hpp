#pragma once
// What a search is narrowed to: the values that some of the parameters may take.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/space/search_space.hpp"

namespace hone {

/// By parameter, the values it may take as a user writes them: {{"block", {"128", "256"}}, {"vec", {"4"}}}. Others are as free as ever.
using Restriction = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Reads "block=128|256,vec=4". Errors: a part of another form, a parameter given twice.
Result<Restriction> parse_restriction(std::string_view text);

/// `parse_restriction`'s form, the same for all ways to say the same: in the order of the parameters and of their values, without
/// parameters of which every value is allowed. Errors: as `narrowed`.
Result<std::string> text(const std::vector<Parameter>& parameters, const Restriction& restriction);

/// The parameters with the allowed values only, in their order. A default that is not among them gives way to the one next to it in the
/// list. Errors: an unknown parameter, a value it does not list, a parameter without a value.
Result<std::vector<Parameter>> narrowed(std::vector<Parameter> parameters, const Restriction& restriction);

/// The part of a space of rows (a recorded one) that is allowed: it is gone through once.
/// Errors: as above; kEmptySpace if nothing is left.
Result<SearchSpace> narrowed(const SearchSpace& space, const Restriction& restriction);

}  // namespace hone
