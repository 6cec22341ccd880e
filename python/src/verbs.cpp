#include "python/src/verbs.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "cli/embedding.hpp"
#include "cli/output.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "python/src/errors.hpp"
#include "python/src/strategy.hpp"

namespace nb = nanobind;

namespace hone::python {
namespace {

/// What Python keeps of this thread, for as long as it lives; without the GIL.
class PythonThread {
 public:
  PythonThread() : ensured_(PyGILState_Ensure()), saved_(PyEval_SaveThread()) {}
  PythonThread(const PythonThread&) = delete;
  PythonThread& operator=(const PythonThread&) = delete;
  ~PythonThread() {
    PyEval_RestoreThread(saved_);
    PyGILState_Release(ensured_);
  }

 private:
  PyGILState_STATE ensured_;
  PyThreadState* saved_;
};

/// A verb in a thread of its own, so that Python's thread can take its progress and Ctrl-C.
class VerbThread {
 public:
  VerbThread(cli::Embedding& embedding, std::stop_source& source, std::vector<std::string> arguments, bool wants_progress)
      : source_(source) {
    embedding.stop = source_.get_token();
    if (wants_progress) {
      embedding.on_progress = [this](const Progress& progress) {
        if (progress.stage == SessionStage::kFinals) {
          return;  // no trial
        }
        const std::lock_guard lock(mutex_);
        progress_.push_back(progress);  // looked at every moment: waking Python for each trial would cost a strategy in Python its turn
      };
    }
    thread_ = std::thread([this, &embedding, arguments = std::move(arguments)]() mutable {
      const PythonThread attached;  // else each call of a strategy would make and destroy what Python keeps of a thread
      Result<cli::Output> output = cli::run_embedded(embedding, std::move(arguments));
      const std::lock_guard lock(mutex_);
      output_ = std::move(output);
      ended_.notify_one();
    });
  }
  VerbThread(const VerbThread&) = delete;
  VerbThread& operator=(const VerbThread&) = delete;
  ~VerbThread() {
    source_.request_stop();
    const nb::gil_scoped_release released;  // a strategy in Python may need it to end
    thread_.join();
  }

  void stop() { source_.request_stop(); }

  /// Waits a moment; `news`: what came meanwhile. Whether the verb has ended.
  bool wait(std::deque<Progress>& news) {
    constexpr std::chrono::milliseconds kMoment{50};
    const nb::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kMoment, [&] { return output_.has_value(); });
    news.swap(progress_);
    return output_.has_value();
  }

  Result<cli::Output> output() { return *output_; }

 private:
  std::stop_source& source_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Progress> progress_;
  std::optional<Result<cli::Output>> output_;
  std::thread thread_;
};

/// A verb that Python runs, as long as this lives. The GIL guards the list, so neither threads nor the end of the interpreter race for it.
class RunningVerb {
 public:
  RunningVerb() { running().push_back(this); }
  RunningVerb(const RunningVerb&) = delete;
  RunningVerb& operator=(const RunningVerb&) = delete;
  ~RunningVerb() { std::erase(running(), this); }

  std::stop_source source;

  /// Asks all to stop and waits for them: a daemon thread that is in a verb when the interpreter goes away would end the process.
  static void stop_all() {
    constexpr std::chrono::milliseconds kMoment{5};
    ending() = true;
    std::erase_if(running(), [](const RunningVerb* verb) { return verb->process_ != getpid(); });  // those did not survive a fork
    while (!running().empty()) {
      for (RunningVerb* const verb : running()) {
        verb->source.request_stop();
      }
      {
        const nb::gil_scoped_release released;
        std::this_thread::sleep_for(kMoment);
      }
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
    }
  }
  static bool& ending() {
    static bool ending = false;
    return ending;
  }

 private:
  static std::vector<RunningVerb*>& running() {
    static std::vector<RunningVerb*> verbs;
    return verbs;
  }

  pid_t process_ = getpid();
};

nb::object optional_number(const std::optional<double>& number) { return number ? nb::cast(*number) : nb::none(); }

nb::tuple to_python(const Progress& progress) {
  const bool timed = !progress.objective.needs_energy();  // energies are no microseconds
  const auto time_of = [&](const std::optional<double>& value) { return optional_number(timed ? value : std::nullopt); };
  return nb::make_tuple(progress.trials, progress.elapsed_seconds, std::string(name(progress.last_outcome)), time_of(progress.default_us),
                        time_of(progress.best_us), progress.kernel);
}

nb::tuple run_verb(std::vector<std::string> arguments, const nb::object& progress, const std::vector<nb::object>& strategies) {
  if (RunningVerb::ending()) {
    raise({ErrorCode::kUnavailable, "the interpreter is about to exit"});
  }
  RunningVerb running;  // until the last use of Python below
  cli::Embedding embedding{.registry = cli::make_registry()};
  for (const nb::object& strategy : strategies) {
    add_strategy(embedding.registry, strategy);
  }
  std::optional<nb::python_error> failed;
  Result<cli::Output> output = Error{};
  {
    VerbThread verb(embedding, running.source, std::move(arguments), !progress.is_none());
    for (bool ended = false; !ended;) {
      std::deque<Progress> news;
      ended = verb.wait(news);
      try {
        if (PyErr_CheckSignals() != 0) {
          throw nb::python_error();
        }
        for (const Progress& one : failed ? std::deque<Progress>() : news) {
          progress(to_python(one));
        }
      } catch (nb::python_error& error) {
        failed.emplace(error);
        verb.stop();
      }
    }
    output = verb.output();
  }
  if (failed) {
    throw nb::python_error(*failed);
  }
  if (!output) {
    raise(output.error());
  }
  return nb::make_tuple(cli::dump(output->json), output->text, output->exit_code);
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const cli::Verb& verb : cli::verbs()) {
    names.emplace_back(verb.name);
  }
  return names;
}

}  // namespace

void bind_verbs(nb::module_& module) {
  module.def("run_verb", run_verb, nb::arg("arguments"), nb::arg("progress").none() = nb::none(),
             nb::arg("strategies") = std::vector<nb::object>(),
             "Runs a verb of the command: (JSON text, text for people, exit code). `progress` is called with (trials, seconds, outcome, "
             "default_us, best_us, kernel) after each trial, in this thread. Raises hone.Error; after Ctrl-C, KeyboardInterrupt.");
  module.def("stop_verbs", RunningVerb::stop_all, "Asks all running verbs to stop and waits for them; later ones raise hone.Unavailable.");
  module.def("verb_names", verb_names, "The names of all verbs.");
}

}  // namespace hone::python
