#include "engine/tune/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "engine/space/default_position.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone {
namespace {

/// One record of a kernel whose source is known, on this device.
class Verification {
 public:
  Verification(const VerifyRequest& request, const KernelSpec& spec, const Record& record, Store& store, Store& scratch)
      : request_(request), record_(record), store_(store), scratch_(scratch) {
    verified_.spec = &spec;
    tuning_.spec = spec;
    tuning_.problem = record.problem;
    tuning_.device = request.device;
    tuning_.seed = request.seed;
    tuning_.measure = request.measure;
    tuning_.stop = request.stop;
  }

  Result<Verified> run() {
    verified_.kernel = tuning_.spec.name;
    verified_.product = request_.device.info.product;
    verified_.problem = record_.problem;
    verified_.configuration = record_.configuration;
    verified_.recorded_us = record_.measurement.median_us;
    verified_.stale = staleness(record_, request_.device.info);
    HONE_TRY(look());
    if (verified_.standing == Standing::kOk && !verified_.stale.empty()) {
      verified_.standing = Standing::kStale;
      const Staleness& first = verified_.stale.front();
      verified_.detail = fmt::format("{} was {}, is {}", first.what, first.then, first.now);
    }
    if (request_.update && verified_.standing != Standing::kOk) {
      HONE_TRY(update());
    }
    return std::move(verified_);
  }

 private:
  void judge(Standing standing, std::string detail) {
    verified_.standing = standing;
    verified_.detail = std::move(detail);
  }

  Result<void> look() {
    if (record_.code == CodeState::kForeign) {
      judge(Standing::kUntrusted, store_.refusal(record_).message);
      return {};
    }
    const Result<std::shared_ptr<const SearchSpace>> space = space_of(tuning_);
    if (!space || !(*space)->contains(record_.configuration)) {
      judge(Standing::kWrong, space ? "its configuration is not valid for its problem on this device" : space.error().message);
      return {};
    }
    HONE_ASSIGN(usable_, take_code());
    const bool makeable = usable_ && can_be_made();
    HONE_TRY(gather(**space));
    Result<void> tried = try_all();
    if (!tried) {
      const ErrorCode code = tried.error().code;
      if (code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable || code == ErrorCode::kStore) {
        return tried;
      }
      judge(Standing::kWrong, tried.error().message);
      return {};
    }
    if (usable_ && makeable) {
      compare();
    }
    return {};
  }

  [[nodiscard]] CompiledKey key_of(const std::string& configuration) const {
    return compiled_key(tuning_.spec, tuning_.problem, configuration, request_.device.info);
  }

  /// The code that a launch of the record would run is what is looked at, not what its source compiles to now.
  Result<bool> take_code() {
    Result<Compiled> compiled = store_.load_code(record_);
    if (!compiled) {
      judge(Standing::kWrong, compiled.error().message);
      return false;
    }
    HONE_ASSIGN(const std::optional<Compiled> known, store_.find_compiled(key_of(record_.configuration_text)));
    if (known && known->artifact->digest == compiled->artifact->digest && known->symbols == compiled->symbols) {
      compiled->resources = known->resources;
    }
    HONE_TRY(scratch_.put_compiled(key_of(record_.configuration_text), *compiled));
    return true;
  }

  /// Whether the source still compiles; where there is no compiler, nothing can be said of it.
  bool can_be_made() {
    const auto compiler = request_.device.plugin->compiler(request_.device.info);
    if (!compiler) {
      return true;
    }
    const auto compiled = (*compiler)->compile(
        {.spec = &tuning_.spec, .dtype = tuning_.problem.dtype, .configurations = {record_.configuration}, .shape = tuning_.problem.shape});
    if (compiled.front()) {
      return true;
    }
    judge(Standing::kWrong, fmt::format("it does not compile again: {}", compiled.front().error().message));
    return false;
  }

  void propose(const SearchSpace& space, const Configuration& configuration) {
    const std::optional<Count> position = space.index(configuration);
    const bool known = std::ranges::any_of(proposals_, [&](const Proposal& p) { return p.configuration == configuration; });
    if (position && !known) {
      proposals_.push_back({*position, configuration});
    }
  }

  /// The default, the record, and the fastest others that the store's sessions of this problem have measured.
  Result<void> gather(const SearchSpace& space) {
    propose(space, space.at(default_position(space, default_configuration(tuning_.spec))));
    propose(space, record_.configuration);
    std::vector<Trial> measured;
    HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_.sessions());
    for (const SessionInfo& session : sessions) {
      if (session.kernel != tuning_.spec.name || session.source_hash != tuning_.spec.source_hash || session.problem != tuning_.problem ||
          session.product != request_.device.info.product || session.purpose != Purpose{}) {
        continue;
      }
      HONE_ASSIGN(std::vector<Trial> trials, store_.trials(session.id, tuning_.spec.parameters));
      std::ranges::copy_if(trials, std::back_inserter(measured), [](const Trial& trial) { return trial.outcome == Outcome::kOk; });
    }
    // One that lost its race is still better than a record that is wrong.
    std::ranges::sort(measured, {}, [](const Trial& trial) { return std::pair(trial.measurement.raced_out, trial.measurement.median_us); });
    const std::size_t most = proposals_.size() + request_.rivals;
    for (const Trial& trial : measured) {
      if (proposals_.size() == most) {
        break;
      }
      propose(space, trial.configuration);
    }
    return {};
  }

  Result<void> try_all() {
    HONE_ASSIGN(const auto evaluator, make_live_evaluator(tuning_, &scratch_));
    evaluator->submit(proposals_);
    std::vector<Candidate> right;
    for (std::size_t finished = 0; finished < proposals_.size();) {
      HONE_ASSIGN(std::vector<Trial> trials, evaluator->wait(std::numeric_limits<double>::infinity()));
      finished += trials.size();
      for (Trial& trial : trials) {
        trials_.push_back(trial);
        if (trial.outcome == Outcome::kOk) {
          right.push_back({std::move(trial), true});
        }
      }
    }
    if (!right.empty()) {
      HONE_ASSIGN(finals_, evaluator->finals(right, right.size(), 1.0));
    }
    return {};
  }

  static const Trial* of(const std::vector<Trial>& trials, const Configuration& configuration) {
    const auto found = std::ranges::find(trials, configuration, &Trial::configuration);
    return found == trials.end() ? nullptr : &*found;
  }

  /// The fastest that is right; null if none is.
  [[nodiscard]] const Trial* fastest() const {
    const Trial* best = nullptr;
    for (const Trial& trial : finals_) {
      if (trial.outcome == Outcome::kOk && (best == nullptr || trial.measurement.median_us < best->measurement.median_us)) {
        best = &trial;
      }
    }
    return best;
  }

  void compare() {
    const Trial* own = of(trials_, record_.configuration);
    if (const Trial* last = of(finals_, record_.configuration)) {
      own = last;
    }
    if (own == nullptr || own->outcome != Outcome::kOk) {
      judge(Standing::kWrong, own == nullptr ? "it was not measured" : fmt::format("{}: {}", name(own->outcome), own->detail));
      return;
    }
    verified_.now = own->measurement;
    if (const Trial* standard = of(finals_, proposals_.front().configuration); standard != nullptr && standard->outcome == Outcome::kOk) {
      verified_.default_us = standard->measurement.median_us;
    }
    const Trial* best = fastest();
    if (best != own && best->measurement.ci95_high_us < own->measurement.ci95_low_us) {
      verified_.better = Measured{best->configuration, best->measurement};
      judge(Standing::kSlower, fmt::format("{} takes {:.2f} us, the record {:.2f} us", text(tuning_.spec.parameters, best->configuration),
                                           best->measurement.median_us, own->measurement.median_us));
    }
  }

  /// What was found becomes the record: the record itself where it is only stale, else the fastest.
  Result<void> update() {
    for (const std::vector<Trial>* const round : {&trials_, &finals_}) {
      const Trial* const own = of(*round, record_.configuration);
      if (own != nullptr && is_wrong(own->outcome)) {
        HONE_TRY(store_.set_record_state({record_.id}, RecordState::kWithdrawn, fmt::format("{} when verified", name(own->outcome))));
        break;
      }
    }
    const Trial* winner = verified_.standing == Standing::kStale ? of(finals_, record_.configuration) : fastest();
    const bool same = winner != nullptr && winner->configuration == record_.configuration;
    // Of a record whose code could not be taken, the configuration was compiled anew, and may win.
    if (winner == nullptr || (same && usable_ && verified_.standing == Standing::kWrong)) {
      return {};
    }
    const RecordKey key = record_key(tuning_.spec, tuning_.problem, request_.device.info);
    HONE_ASSIGN(const std::int64_t session, store_.begin_session({key, "verify", "", request_.seed}, "verify"));
    for (const Trial& trial : trials_) {
      HONE_TRY(store_.add_trial(session, tuning_.spec.parameters, trial, 0.0));
    }
    HONE_ASSIGN(const std::optional<Compiled> compiled,
                scratch_.find_compiled(key_of(text(tuning_.spec.parameters, winner->configuration))));
    if (!compiled) {
      return Error{ErrorCode::kStore, "the compiled code of the new record is gone"};
    }
    Record record;
    record.configuration = winner->configuration;
    record.configuration_text = text(tuning_.spec.parameters, winner->configuration);
    HONE_TRY(store_.put_compiled(key_of(record.configuration_text), *compiled));
    record.measurement = winner->measurement;
    record.default_us = verified_.default_us.value_or(0.0);
    record.session = session;
    record.trials = static_cast<std::int64_t>(trials_.size());
    record.artifact = compiled->artifact->digest;
    record.symbols = compiled->symbols;
    record.environment = request_.device.info.environment;
    record.problem = tuning_.problem;
    HONE_ASSIGN(verified_.updated, store_.finish_session(session, key, record, 0.0, record_.id));
    return {};
  }

  const VerifyRequest& request_;
  const Record& record_;
  Store& store_;
  Store& scratch_;
  TuneRequest tuning_;
  Verified verified_;
  bool usable_ = false;  ///< the record's code could be taken
  std::vector<Proposal> proposals_;
  std::vector<Trial> trials_, finals_;
};

class Verifier {
 public:
  Verifier(const VerifyRequest& request, Store& store) : request_(request), store_(store) {}

  Result<std::vector<Verified>> run() {
    for (const KernelSpec& spec : request_.specs) {
      if (!request_.kernel.empty() && spec.name != request_.kernel) {
        continue;
      }
      for (const DTypes& dtype : spec.dtypes) {
        HONE_ASSIGN(const std::vector<Record> records,
                    store_.records_of(record_key(spec, Problem{dtype, {}}, request_.device.info), spec.parameters));
        for (const Record& record : records) {
          HONE_TRY(verify_one(spec, record));
        }
      }
    }
    HONE_TRY(list_others());
    return std::move(all_);
  }

 private:
  Result<void> verify_one(const KernelSpec& spec, const Record& record) {
    if (request_.on_progress) {
      request_.on_progress(fmt::format("{} {} {}", spec.name, name(record.problem.dtype), text(record.problem.shape)));
    }
    // One for each: the code of a record must not meet that of the same configuration for another shape.
    HONE_ASSIGN(const ScratchStore scratch, ScratchStore::create());
    HONE_ASSIGN(Verified verified, Verification(request_, spec, record, store_, scratch.store()).run());
    all_.push_back(std::move(verified));
    return {};
  }

  /// Records that are served and that are not this device's, or of no known source.
  Result<void> list_others() {
    HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_.sessions());
    HONE_ASSIGN(const std::vector<RecordInfo> records, store_.record_history(StoreView()));
    std::set<std::int64_t> made_served;
    for (const RecordInfo& record : records) {
      if (record.served) {
        made_served.insert(record.session);
      }
    }
    for (const SessionInfo& session : sessions) {
      const bool known = std::ranges::any_of(
          request_.specs, [&](const KernelSpec& spec) { return spec.name == session.kernel && spec.source_hash == session.source_hash; });
      const bool here = session.product == request_.device.info.product;
      const bool wanted = request_.kernel.empty() || session.kernel == request_.kernel;
      if ((known && here) || !wanted || !made_served.contains(session.id)) {
        continue;
      }
      Verified other;
      other.kernel = session.kernel;
      other.product = session.product;
      other.problem = session.problem;
      other.standing = Standing::kNotCheckable;
      other.detail = here ? unknown_source(session) : fmt::format("it was tuned on {}", session.product);
      all_.push_back(std::move(other));
    }
    return {};
  }

  [[nodiscard]] std::string unknown_source(const SessionInfo& session) const {
    constexpr std::size_t kShown = 12;
    const std::string then = session.source_hash.substr(0, kShown);
    const auto today = std::ranges::find(request_.specs, session.kernel, &KernelSpec::name);
    return today == request_.specs.end()
               ? fmt::format("its source ({}) is unknown: give the file it was tuned from, as KERNEL or with --kernel FILE", then)
               : fmt::format(
                     "its source ({}) differs from {} ({}): the file has changed since, or it was tuned with other -D or --flag options. "
                     "Give the file it was tuned from with --kernel FILE",
                     then, today->file, today->source_hash.substr(0, kShown));
  }

  const VerifyRequest& request_;
  Store& store_;
  std::vector<Verified> all_;
};

}  // namespace

std::string_view name(Standing standing) {
  switch (standing) {
    case Standing::kOk:
      return "ok";
    case Standing::kStale:
      return "stale";
    case Standing::kWrong:
      return "wrong";
    case Standing::kSlower:
      return "slower";
    case Standing::kUntrusted:
      return "untrusted";
    case Standing::kNotCheckable:
      return "not checkable";
  }
  return "";
}

Result<std::vector<Verified>> verify(const VerifyRequest& request, Store& store) { return Verifier(request, store).run(); }

}  // namespace hone
