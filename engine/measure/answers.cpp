// The answers of a reference that takes the configuration: one for each set of values of the fields that it reads.
#include <algorithm>
#include <cstring>

#include "engine/measure/bench_impl.hpp"

namespace hone {

void Bench::Impl::find_answer_fields() {
  for (const ReferencePass& pass : spec_.judge ? std::vector<ReferencePass>() : spec_.reference) {
    answer_fields_.insert(answer_fields_.end(), pass.fields.begin(), pass.fields.end());
  }
  std::ranges::sort(answer_fields_);
  answer_fields_.erase(std::ranges::unique(answer_fields_).begin(), answer_fields_.end());
  configured_.resize(answer_fields_.size());
  for (std::size_t i = 0; i < answer_fields_.size(); ++i) {
    reference_arguments_[static_cast<std::size_t>(spec_.configured(answer_fields_[i]))] = configured_[i].data();
  }
}

void Bench::Impl::use(const Configuration& configuration) {
  fields_.clear();
  for (std::size_t i = 0; i < answer_fields_.size(); ++i) {
    const auto field = static_cast<std::size_t>(answer_fields_[i]);
    const Value value = configuration.values.at(field);
    const std::int64_t integer = value.integer();
    const double real = value.real();
    const bool is_real = spec_.parameters[field].kind == ParameterKind::kReal;
    std::memcpy(configured_[i].data(), is_real ? static_cast<const void*>(&real) : &integer, configured_[i].size());
    fields_.push_back(value);
  }
}

/// Before something of the subject is timed and looked at: its answer, where the one before was another's.
Result<void> Bench::Impl::face(const Subject& subject) {
  if (answer_fields_.empty()) {
    return {};
  }
  use(*subject.configuration);
  return ready_for_timing();
}

/// An eighth of the device's memory, and no more than a gibibyte: finalists take turns, and their answers with them.
std::size_t Bench::Impl::most_known_bytes() const {
  constexpr std::size_t kShare = 8, kMost = std::size_t{1} << 30;
  return std::min(kMost, device_memory().value_or(0) / kShare);
}

/// The answer for the fields that count, if it is known. Not if something wrote over it.
Result<bool> Bench::Impl::recall() {
  if (const auto last = std::ranges::find(known_, answer_of_, &KnownAnswer::fields); last != known_.end()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      last->slack[i] = std::max(last->slack[i], slots_[i].slack);
    }
  }
  const auto known = std::ranges::find(known_, fields_, &KnownAnswer::fields);
  if (answer_fields_.empty() || known == known_.end()) {
    return false;
  }
  bool intact = true;
  auto copy = known->copies.begin();
  for (const Frozen& own : known->own) {
    if (own.region.address != own.slot->original) {
      HONE_TRY(device_.copy(own.region.address, (*copy++)->address(), own.region.bytes));
    }
    HONE_ASSIGN(const std::uint64_t sum, device_.checksum(own.region.address, own.region.bytes));
    intact = intact && sum == own.checksum;
  }
  if (!intact) {
    known_.erase(known);
    return false;
  }
  own_ = known->own;
  answer_of_ = fields_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].rms = known->rms[i];
    slots_[i].slack = known->slack[i];
    slots_[i].sensitivity.clear();
  }
  return true;
}

/// Keeps the answer that is there, in place of older ones. Without memory for it, it is computed again.
Result<void> Bench::Impl::remember() {
  if (answer_fields_.empty()) {
    return {};
  }
  std::erase_if(known_, [this](const KnownAnswer& known) { return known.fields == fields_; });
  KnownAnswer made{.fields = fields_, .copies = {}, .own = own_, .rms = {}, .slack = {}};
  std::size_t all = 0;
  for (const Frozen& own : own_) {
    made.bytes += own.region.address == own.slot->original ? 0 : own.region.bytes;
  }
  for (const KnownAnswer& known : known_) {
    all += known.bytes;
  }
  for (; !known_.empty() && all + made.bytes > most_known_bytes(); known_.erase(known_.begin())) {
    all -= known_.front().bytes;
  }
  if (made.bytes > most_known_bytes()) {
    return {};
  }
  for (const Slot& slot : slots_) {
    made.rms.push_back(slot.rms);
    made.slack.push_back(slot.slack);
  }
  for (const Frozen& own : own_) {
    if (own.region.address == own.slot->original) {
      continue;
    }
    Result<std::unique_ptr<Buffer>> copy = device_.allocate(own.region.bytes);
    if (!copy) {
      return {};
    }
    HONE_TRY(device_.copy((*copy)->address(), own.region.address, own.region.bytes));
    made.copies.push_back(std::move(copy).value());
  }
  known_.push_back(std::move(made));
  return {};
}

}  // namespace hone
