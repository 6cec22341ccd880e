#include "engine/tune/portfolio_proposals.hpp"

#include <algorithm>

#include "engine/kernel/configuration_text.hpp"
#include "engine/space/default_position.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/newly_legal.hpp"

namespace hone {
namespace {

constexpr std::size_t kNewShare = 4;  // one in so many may be one that came with Hone and was measured nowhere in the range, and one in so
                                      // many one that could not be tried where another won
constexpr std::size_t kUntriedShare = 3;  // one in so many of a session's, of what was tried nowhere near
constexpr std::size_t kNeighbours = 2;    // of these, one parameter away from the same one
constexpr std::size_t kFew = 4;           // legal ones: then those nearest to the others are timed, however much is known
constexpr std::size_t kFewShapes = 8;     // at which a kernel was measured: its default is timed beside the others

}  // namespace

const KernelSpec* PortfolioProposals::kernel_named(const std::string& kernel) const {
  const auto& all = request_.operation->implementations;
  const auto found = std::ranges::find_if(all, [&](const KernelSpec* spec) { return spec->name == kernel; });
  return found == all.end() ? nullptr : *found;
}

std::optional<Configuration> PortfolioProposals::legal(const PortfolioMember& member, const Problem& problem) const {
  const KernelSpec* const spec = kernel_named(member.kernel);
  const Result<Problem> own = spec == nullptr ? Result<Problem>(problem) : problem_for(*spec, problem);
  if (spec == nullptr || !own) {
    return std::nullopt;
  }
  const Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
  const bool valid = configuration && valid_for(*spec, *own, request_.common.device.info, *configuration);
  return valid ? std::optional(*configuration) : std::nullopt;
}

std::optional<PortfolioMember> PortfolioProposals::standard(const Problem& problem) const {
  for (const KernelSpec* const spec : request_.operation->implementations) {
    if (problem_for(*spec, problem)) {
      PortfolioMember member{spec->name, text(spec->parameters, default_configuration(*spec))};
      return legal(member, problem) && !table_.is_hopeless(member) ? std::optional(std::move(member)) : std::nullopt;
    }
  }
  return std::nullopt;
}

MemberLaunches PortfolioProposals::launches(std::span<const PortfolioMember> members, const Problem& problem) const {
  std::vector<Implementation> able;
  for (const KernelSpec* const spec : request_.operation->implementations) {
    if (Result<Problem> own = problem_for(*spec, problem)) {
      able.push_back({spec, *std::move(own)});
    }
  }
  return launches_of(members, able, request_.common.device.info);
}

MayBeChosen PortfolioProposals::may_be_chosen(std::span<const PortfolioMember> members, const Problem& problem) const {
  return [this, members, &problem](std::size_t member) { return legal(members[member], problem).has_value(); };
}

PortfolioProposals::First PortfolioProposals::at(const Shape& shape, const Problem& problem, const Portfolio& so_far,
                                                 const PortfolioRule* rule, std::size_t most, std::size_t most_members) const {
  First first;
  std::size_t taken = 0;
  const auto add = [&](const std::string& kernel, const std::optional<Configuration>& configuration) {
    std::vector<Configuration>& all = first[kernel];
    if (taken < most && configuration && std::ranges::find(all, *configuration) == all.end()) {
      all.push_back(*configuration);
      ++taken;
    }
  };
  if (const std::optional<PortfolioMember> one = most_members > 0 ? standard(problem) : std::nullopt) {
    add(one->kernel, legal(*one, problem));
  }
  // Sessions may be too short for more than the first kernel.
  Spaces spaces;
  for (const KernelSpec* const spec : most_members > 0 ? request_.operation->implementations : std::vector<const KernelSpec*>()) {
    if (!table_.has_shapes_of(spec->name, kFewShapes) && problem_for(*spec, problem)) {
      const PortfolioMember own{spec->name, text(spec->parameters, default_configuration(*spec))};
      const std::optional<Configuration> configuration = legal(own, problem);
      add(own.kernel, configuration ? configuration : nearest_legal(own, problem, spaces));
    }
  }
  const std::size_t most_new = !request_.common.transfer ? 0 : table_.columns().empty() ? most : most / kNewShare;
  for (const auto& [kernel, configuration] : new_here(problem, most_new)) {
    add(kernel, configuration);
  }
  for (const Opinion& opinion : most_members > 0 && rule != nullptr
                                    ? rule->rank(shape, launches(so_far.members, problem), may_be_chosen(so_far.members, problem))
                                    : std::vector<Opinion>()) {
    const PortfolioMember& member = so_far.members[opinion.member];
    if (taken < most_members) {
      add(member.kernel, legal(member, problem));
    }
  }
  const auto of_members = [&](std::span<const PortfolioMember> members) { return launches(members, problem); };
  const std::vector<std::size_t> promising = table_.promising(shape, so_far, of_members);
  if (most_members == 0) {
    const auto around = [&](const PortfolioMember& member) { return neighbours(member, problem); };
    for (const PortfolioMember& member : table_.untried(shape, so_far, promising, of_members, around, most / kUntriedShare)) {
      add(member.kernel, legal(member, problem));
    }
  }
  std::vector<PortfolioMember> illegal;
  const std::vector<std::optional<Shape>> fastest = table_.fastest_at();
  const bool is_exploring = most_members == 0 || !table_.has_many_shapes();
  std::size_t newly_legal_left = is_exploring ? most / kNewShare : 0;
  for (const std::size_t column : promising) {
    const PortfolioMember& member = table_.columns()[column];
    const std::optional<Configuration> configuration = taken < most ? legal(member, problem) : std::nullopt;
    add(member.kernel, configuration);
    if (!configuration) {
      illegal.push_back(member);
    } else if (fastest[column]) {
      std::size_t most_here = std::min(newly_legal_left, kNeighbours);
      for (const Configuration& other :
           most_here == 0 ? std::vector<Configuration>() : could_not_be_tried(member, problem, *fastest[column])) {
        if (most_here > 0 && !table_.find_column({member.kernel, hone::text(kernel_named(member.kernel)->parameters, other)})) {
          add(member.kernel, other);
          --most_here;
          --newly_legal_left;
        }
      }
    }
  }
  for (std::size_t i = 0; i < illegal.size() && taken < (is_exploring ? most : std::min(most, kFew)); ++i) {
    add(illegal[i].kernel, nearest_legal(illegal[i], problem, spaces));
  }
  std::erase_if(first, [](const auto& one) { return one.second.empty(); });
  return first;
}

std::vector<std::pair<double, PortfolioMember>> PortfolioProposals::fastest(const PortfolioTable::Row& row, const Problem& problem,
                                                                            std::size_t most) const {
  std::vector<std::pair<double, std::size_t>> timed;  // slowdown, column
  for (const auto& [column, slowdown] : row.slowdowns) {
    if (!table_.is_wrong(column)) {
      timed.emplace_back(slowdown, column);
    }
  }
  std::ranges::sort(timed);
  std::vector<std::pair<double, PortfolioMember>> all;
  for (auto one = timed.begin(); one != timed.end() && all.size() < most; ++one) {
    if (legal(table_.columns()[one->second], problem)) {
      all.emplace_back(one->first, table_.columns()[one->second]);
    }
  }
  return all;
}

std::vector<PortfolioMember> PortfolioProposals::neighbours(const PortfolioMember& member, const Problem& problem) const {
  return around(member, problem, legal_neighbours);
}

std::vector<PortfolioMember> PortfolioProposals::likely_neighbours(const PortfolioMember& member, const Problem& problem) const {
  return around(member, problem, hone::likely_neighbours);
}

std::vector<PortfolioMember> PortfolioProposals::around(const PortfolioMember& member, const Problem& problem, Neighbours of) const {
  std::vector<PortfolioMember> all;
  const KernelSpec* const spec = kernel_named(member.kernel);
  const Result<Problem> own = spec == nullptr ? Result<Problem>(problem) : problem_for(*spec, problem);
  const Result<Configuration> configuration =
      spec == nullptr ? Result<Configuration>(Error{}) : parse_configuration(spec->parameters, member.configuration);
  if (!own || !configuration) {
    return all;
  }
  for (const Configuration& other : of(*spec, *configuration, *own, request_.common.device.info)) {
    all.push_back({member.kernel, text(spec->parameters, other)});
  }
  return all;
}

std::vector<Configuration> PortfolioProposals::could_not_be_tried(const PortfolioMember& member, const Problem& here,
                                                                  const Shape& there) const {
  const std::optional<Configuration> configuration = legal(member, here);
  const Result<Problem> problem_there = shapes_.problem_at(there);
  if (!configuration || !problem_there) {
    return {};
  }
  const KernelSpec& spec = *kernel_named(member.kernel);
  const Result<Problem> own_here = problem_for(spec, here), own_there = problem_for(spec, *problem_there);
  return own_here && own_there ? newly_legal(spec, *configuration, *own_here, *own_there, request_.common.device.info)
                               : std::vector<Configuration>();
}

/// Of what came with Hone the best expected at a problem, of every kernel in turn, at most `most` that were measured at no shape of the
/// range. Where all that is for such problems was, what is for similar ones: operands that lie otherwise, another type of the same size.
std::vector<std::pair<std::string, Configuration>> PortfolioProposals::new_here(const Problem& problem, std::size_t most) const {
  std::vector<std::vector<std::pair<std::string, Configuration>>> by_kernel;
  std::size_t longest = 0;
  for (const KernelSpec* const spec : request_.operation->implementations) {
    std::vector<std::pair<std::string, Configuration>>& all = by_kernel.emplace_back();
    const auto is_new = [&](const Configuration& one) { return !table_.find_column({spec->name, hone::text(spec->parameters, one)}); };
    const Result<Problem> own = problem_for(*spec, problem);
    for (Configuration& one :
         own ? shipped_proposals(*spec, *own, request_.common.device.info, most, is_new) : std::vector<Configuration>()) {
      all.emplace_back(spec->name, std::move(one));
    }
    longest = std::max(longest, all.size());
  }
  std::vector<std::pair<std::string, Configuration>> all;
  for (std::size_t i = 0; i < longest; ++i) {
    for (auto& of_one : by_kernel) {
      if (i < of_one.size() && all.size() < most) {
        all.push_back(std::move(of_one[i]));
      }
    }
  }
  return all;
}

/// `spaces`: of the kernels at this problem, as far as they were needed; nothing for a kernel that cannot solve it.
std::optional<Configuration> PortfolioProposals::nearest_legal(const PortfolioMember& member, const Problem& problem,
                                                               Spaces& spaces) const {
  const KernelSpec* const spec = kernel_named(member.kernel);
  const Result<Configuration> wanted =
      spec == nullptr ? Result<Configuration>(Error{}) : parse_configuration(spec->parameters, member.configuration);
  if (!wanted) {
    return std::nullopt;
  }
  const auto [space, is_new] = spaces.try_emplace(member.kernel);
  const Result<Problem> own = is_new ? problem_for(*spec, problem) : Result<Problem>(problem);
  if (is_new && own) {
    Bindings fixed = bindings(*own);
    fixed.merge(bindings(request_.common.device.info));
    Result<SearchSpace> built = SearchSpace::build(spec->parameters, spec->constraints, fixed);
    if (built) {
      space->second.emplace(*std::move(built));
    }
  }
  return space->second ? std::optional(space->second->at(default_position(*space->second, *wanted))) : std::nullopt;
}

}  // namespace hone
