#pragma once
// Which configuration serves a problem: the exact record, what a portfolio predicts, the nearest tuned shape's, or the default.

#include <optional>

#include "engine/store/store.hpp"

namespace hone {

struct Choice {
  Source source = Source::kDefault;
  Configuration configuration;
  std::optional<Record> record;
  std::optional<Prediction> prediction = {};  ///< kPredicted
  std::string why = {};                       ///< why records that there are were passed over; empty if none was
  std::string elsewhere = {};                 ///< which products or shapes have records of the kernel, if none of them can serve
  std::string store_failure = {};             ///< why the store could not be asked (Lookup::without_store); empty if it could
};

/// What is asked of the records that may be chosen.
struct Lookup {
  Purpose purpose = {};
  bool launch = true;          ///< only records whose code may be launched; false: to look at, or to compile the configuration anew
  bool portfolios = true;      ///< what portfolios predict counts, also those that came with Hone; false: records alone
  bool without_store = false;  ///< a store that fails is as none, and Choice::store_failure says why
};

/// A kernel that takes a problem, as it has that.
struct Implementation {
  const KernelSpec* spec = nullptr;
  Problem problem;
};

/// Whether all constraints of the kernel hold.
bool valid_for(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, const Configuration& configuration);

/// Sum over the extents of |log(a / b)|: how far two shapes are apart, in factors. Infinite: one is 0 where the other is not.
double shape_distance(const Shape& a, const Shape& b);
/// Whether a record of one says more of the other than a portfolio for similar problems would: at most a factor of 4 apart, in all.
bool are_near(const Shape& a, const Shape& b);

/// The default, where that is not valid the configuration nearest to it. Errors: no configuration is valid.
Result<Configuration> default_for(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device);

/// What the store and the portfolios have for the problem: a choice of kDefault, without a configuration, where nothing fits. `store` may
/// be null. Errors: the store fails; the problem's record was changed, so that it and its code do not belong together.
Result<Choice> choose_recorded(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store,
                               const Lookup& lookup = {});
/// The same, and the default where nothing fits. `store` may be null. Errors: the store fails; the problem's record was changed, so that
/// it and its code do not belong together; no configuration is valid.
Result<Choice> choose(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store, const Lookup& lookup = {});

}  // namespace hone
