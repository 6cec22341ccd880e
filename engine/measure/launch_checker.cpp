#include "engine/measure/launch_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/perturbation.hpp"
#include "hone/random.h"

namespace hone {
namespace {

constexpr std::size_t kCopyAlignment = 256;  // what an allocation of its own would have

bool is_read(Direction direction) { return direction == Direction::kIn || direction == Direction::kInOut; }
bool is_written(Direction direction) { return direction == Direction::kOut || direction == Direction::kInOut; }

std::string sentence(const LaunchCheck& check) {
  std::string said =
      fmt::format("{} {} {} ({}): ", check.kernel, name(check.problem.dtype), text(check.problem.shape), check.configuration);
  if (check.finding == LaunchCheck::Finding::kDiffers) {
    said += fmt::format("argument '{}': {} of {} elements differ from the default's, the first at index {}: {:.9g}, the default's {:.9g}",
                        check.argument, check.wrong, check.elements, check.first_wrong, check.actual, check.of_default);
  } else {
    said += "agrees with the default";
  }
  return check.not_finite == 0 ? said : fmt::format("{}; {} elements are NaN or infinite", said, check.not_finite);
}

}  // namespace

LaunchChecker::LaunchChecker(LaunchCheckRequest request, std::unique_ptr<SideStream> side)
    : request_(std::move(request)), side_(std::move(side)), thread_([this] { run(); }) {}

Result<std::shared_ptr<LaunchChecks>> start_launch_checks(LaunchCheckRequest request) {
  HONE_ASSIGN(std::unique_ptr<SideStream> side, request.device->side_stream());
  return std::shared_ptr<LaunchChecks>(std::make_shared<LaunchChecker>(std::move(request), std::move(side)));
}

LaunchChecker::Layout LaunchChecker::lay_out(const Prepared& served, const Prepared& standard) {
  Layout layout;
  const auto take = [&](std::size_t bytes) {
    const std::size_t offset = layout.bytes;
    layout.bytes += (bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
    return offset;
  };
  for (const PassedArgument& argument : served.passed) {
    if (!argument.pointer || argument.least_bytes == 0) {
      continue;
    }
    Copies& copies = layout.copies.emplace_back();
    copies.argument = argument.index;
    copies.bytes = argument.least_bytes;
    const Direction direction = served.arguments[argument.index].direction;
    if (is_read(direction)) {
      copies.input = take(copies.bytes);
    }
    if (is_written(direction)) {
      copies.actual = take(copies.bytes);
      copies.expected = take(copies.bytes);
    }
  }
  layout.workspace = take(standard.workspace_bytes);
  return layout;
}

bool LaunchChecker::begin(const std::shared_ptr<const Prepared>& prepared, void* stream, std::span<void* const> values) {
  CheckedLaunches& checked = *prepared->checked;
  if (checked.state.load(std::memory_order_acquire) == CheckedLaunches::State::kNever || busy_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  if (request_.device->lane_of(stream).capture != 0) {
    busy_.store(false, std::memory_order_release);
    return false;
  }
  prepared_ = prepared;
  const bool is_ready = checked.state.load(std::memory_order_acquire) == CheckedLaunches::State::kReady;
  layout_ = is_ready ? lay_out(*prepared, *checked.standard) : Layout();
  if (!is_ready || memory_ == nullptr || memory_->bytes() < layout_.bytes) {
    hand_over(Task::kPrepare);
    return false;
  }
  for (const Copies& copies : layout_.copies) {
    const void* const from = *static_cast<void* const*>(values[copies.argument]);
    if (copies.input && !request_.device->copy_on(stream, at(*copies.input), from, copies.bytes)) {
      end(stream, values, false);
      return false;
    }
  }
  scalars_.assign(values.size(), {});
  for (const PassedArgument& argument : prepared->passed) {
    if (!argument.pointer) {
      std::memcpy(scalars_[argument.index].data(), values[argument.index], prepared->arguments[argument.index].bytes);
    }
  }
  return true;
}

void LaunchChecker::end(void* stream, std::span<void* const> values, bool launched) {
  bool copied = launched;
  for (const Copies& copies : layout_.copies) {
    const void* const from = *static_cast<void* const*>(values[copies.argument]);
    copied = copied && (!copies.actual || request_.device->copy_on(stream, at(*copies.actual), from, copies.bytes).ok());
  }
  if (!side_->follow(stream)) {
    prepared_ = nullptr;
    return;  // nobody knows when the memory is free again: this was the last check
  }
  hand_over(copied ? Task::kCompare : Task::kWait);
}

void LaunchChecker::hand_over(Task task) {
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    prepared_ = nullptr;
    return;
  }
  task_ = task;
  changed_.notify_one();
}

void LaunchChecker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
  busy_ = true;  // for good
}

void LaunchChecker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || task_ != Task::kNone; });
    if (stopping_) {
      if (task_ != Task::kNone) {  // else a launch may be about to hand one over
        prepared_ = nullptr;
      }
      return;
    }
    const Task task = std::exchange(task_, Task::kNone);
    lock.unlock();
    perform(task);
    prepared_ = nullptr;
    busy_.store(false, std::memory_order_release);
    lock.lock();
  }
}

/// An exception that left the thread would end the application.
void LaunchChecker::perform(Task task) {
  try {
    if (task == Task::kPrepare) {
      prepare();
    } else if (task == Task::kCompare) {
      compare();
    } else {
      static_cast<void>(side_->download({}, nullptr).ok());
    }
  } catch (const std::exception& broken) {
    never(broken.what());
  }
}

void LaunchChecker::never(const std::string& why) {
  prepared_->checked->state.store(CheckedLaunches::State::kNever, std::memory_order_release);
  request_.warn(fmt::format("launches of {} {} {} are not checked: {}", prepared_->name, name(prepared_->problem.dtype),
                            text(prepared_->problem.shape), why));
}

void LaunchChecker::prepare() {
  CheckedLaunches& checked = *prepared_->checked;
  if (checked.state != CheckedLaunches::State::kReady) {
    if (std::ranges::any_of(checked.spec->arguments, [](const Argument& argument) { return argument.capacity.has_value(); })) {
      return never("the default's launch would write the constant memory that the application's kernels read");
    }
    Result<std::shared_ptr<const Prepared>> standard = request_.standard(*prepared_);
    if (!standard) {
      return never(standard.error().message);
    }
    if (*standard == nullptr) {  // it is the default
      checked.state.store(CheckedLaunches::State::kNever, std::memory_order_release);
      return;
    }
    checked.standard = *std::move(standard);
    checked.state.store(CheckedLaunches::State::kReady, std::memory_order_release);
  }
  const std::size_t bytes = lay_out(*prepared_, *checked.standard).bytes;
  if (memory_ != nullptr && memory_->bytes() >= bytes) {
    return;
  }
  memory_ = nullptr;
  Result<std::unique_ptr<Buffer>> allocated = request_.device->allocate(bytes);
  if (allocated) {
    memory_ = *std::move(allocated);
  } else {
    request_.warn(fmt::format("launches of {} {} {} are not checked for now: there is no memory for {} bytes of copies", prepared_->name,
                              name(prepared_->problem.dtype), text(prepared_->problem.shape), bytes));
  }
}

void LaunchChecker::compare() {
  const Result<LaunchCheck> found = find();
  if (!found) {
    return never(found.error().message);
  }
  if (found->finding == LaunchCheck::Finding::kDiffers) {
    prepared_->checked->state.store(CheckedLaunches::State::kNever, std::memory_order_release);
    request_.reject(*prepared_, *found);
  }
  report(*found);
}

void LaunchChecker::report(const LaunchCheck& found) {
  if (request_.on_check == nullptr) {
    return;
  }
  try {
    request_.on_check(found);
  } catch (const std::exception& thrown) {
    request_.warn(fmt::format("EngineOptions::on_check threw: {}", thrown.what()));
  } catch (...) {
    request_.warn("EngineOptions::on_check threw something that is no std::exception");
  }
}

Result<LaunchCheck> LaunchChecker::find() {
  LaunchCheck found{.kernel = prepared_->name,
                    .problem = prepared_->problem,
                    .configuration = text(prepared_->parameters, prepared_->choice.configuration)};
  HONE_TRY(launch_standard());
  HONE_ASSIGN(std::vector<Output> both, outputs());
  const auto is_doubtful = [](const Output& output) {
    return output.comparison.mismatches > 0 && output.comparison.not_finite == 0 && !output.rule.is_bound && !output.rule.set;
  };
  if (std::ranges::any_of(both, is_doubtful)) {
    HONE_TRY(measure_slack(both));
  }
  for (const Output& output : both) {
    const Comparison& comparison = output.comparison;
    found.worst = std::max(found.worst, comparison.max_error);
    found.not_finite += measure::count_not_finite(output.rule.element, output.actual);
    if (comparison.mismatches > 0 && found.finding != LaunchCheck::Finding::kDiffers) {
      found.finding = LaunchCheck::Finding::kDiffers;
      found.argument = prepared_->arguments[output.at->argument].name;
      found.elements = comparison.elements;
      found.wrong = comparison.mismatches;
      found.first_wrong = comparison.first_mismatch;
      found.actual = comparison.first_actual;
      found.of_default = comparison.first_expected;
    }
  }
  if (found.not_finite > 0 && found.finding == LaunchCheck::Finding::kAgrees) {
    HONE_ASSIGN(const bool is_new, inputs_are_finite());
    found.finding = is_new ? LaunchCheck::Finding::kNotFinite : found.finding;
  }
  found.text = sentence(found);
  return found;
}

/// On the copies of the inputs, into memory of its own.
Result<void> LaunchChecker::launch_standard() {
  const Prepared& standard = *prepared_->checked->standard;
  std::array<void*, Kernel::kMostArguments> addresses{}, values{};
  for (const PassedArgument& argument : standard.passed) {
    values[argument.index] = argument.pointer ? static_cast<void*>(&addresses[argument.index]) : scalars_[argument.index].data();
  }
  for (const Copies& copies : layout_.copies) {
    addresses[copies.argument] = at(copies.expected ? *copies.expected : *copies.input);
    if (copies.expected && copies.input) {
      HONE_TRY(side_->copy(at(*copies.expected), at(*copies.input), copies.bytes));
    } else if (standard.arguments[copies.argument].zeroed) {
      HONE_TRY(side_->fill(at(*copies.expected), copies.bytes, 0));
    }
  }
  for (const WorkspaceArgument& workspace : standard.workspaces) {
    addresses[workspace.index] = at(layout_.workspace + workspace.offset);
    values[workspace.index] = &addresses[workspace.index];
    if (workspace.zeroed) {
      HONE_TRY(side_->fill(addresses[workspace.index], workspace.bytes, 0));
    }
  }
  return standard.loaded->launch(side_->handle(), std::span<void* const>(values.data(), standard.arguments.size()));
}

Result<std::vector<std::byte>> LaunchChecker::read(std::size_t offset, std::size_t bytes) {
  std::vector<std::byte> there(bytes);
  HONE_TRY(side_->download(there, at(offset)));
  return there;
}

Result<std::vector<LaunchChecker::Output>> LaunchChecker::outputs() {
  std::vector<Output> all;
  for (const Copies& copies : layout_.copies) {
    if (!copies.actual) {
      continue;
    }
    Output& output = all.emplace_back();
    output.at = &copies;
    HONE_ASSIGN(output.rule, measure::output_rule(*prepared_->checked->spec, copies.argument, prepared_->problem, request_.max_error));
    HONE_ASSIGN(output.actual, read(*copies.actual, copies.bytes));
    HONE_ASSIGN(output.expected, read(*copies.expected, copies.bytes));
    output.comparison = measure::hold_against(output.rule, output.actual, output.expected, {});
  }
  return all;
}

/// What rounding may do to these very results, as validation measures it (conditioning.cpp), with the default in the reference's place.
Result<void> LaunchChecker::measure_slack(std::vector<Output>& outputs) {
  double step = measure::kFinestStep;
  std::vector<std::vector<std::byte>> inputs(layout_.copies.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Copies& copies = layout_.copies[i];
    if (copies.input) {
      step = std::max(step, epsilon(prepared_->arguments[copies.argument].dtype));
      HONE_ASSIGN(inputs[i], read(*copies.input, copies.bytes));
    }
  }
  for (Output& output : outputs) {
    output.slack.assign(output.comparison.elements, 0.0);
  }
  for (std::uint64_t draw = 0; draw < measure::kDraws; ++draw) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (const Copies& copies = layout_.copies[i]; copies.input) {
        std::vector<std::byte> changed = inputs[i];
        measure::perturb(prepared_->arguments[copies.argument].dtype, changed, step, random_bits(draw, i));
        HONE_TRY(side_->upload(at(*copies.input), changed));
      }
    }
    HONE_TRY(launch_standard());
    for (Output& output : outputs) {
      HONE_ASSIGN(const std::vector<std::byte> other, read(*output.at->expected, output.at->bytes));
      measure::add_squared_differences(output.rule.element, other, output.expected, output.slack);
    }
  }
  for (Output& output : outputs) {
    const double per_change = measure::rounding_per_change(output.rule.element, step, output.rule.sum_length);
    std::ranges::transform(output.slack, output.slack.begin(),
                           [&](double squares) { return per_change * std::sqrt(squares / measure::kDraws); });
    output.comparison = measure::hold_against(output.rule, output.actual, output.expected, output.slack);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const Copies& copies = layout_.copies[i]; copies.input) {
      HONE_TRY(side_->upload(at(*copies.input), inputs[i]));
    }
  }
  return {};
}

Result<bool> LaunchChecker::inputs_are_finite() {
  for (const Copies& copies : layout_.copies) {
    if (!copies.input) {
      continue;
    }
    HONE_ASSIGN(const std::vector<std::byte> input, read(*copies.input, copies.bytes));
    if (measure::count_not_finite(prepared_->arguments[copies.argument].dtype, input) > 0) {
      return false;
    }
  }
  return true;
}

}  // namespace hone
