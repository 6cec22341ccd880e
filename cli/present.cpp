#include "cli/present.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::cli {

Json json(Count count) {
  constexpr Count kExact = Count{1} << 53;
  return count <= kExact ? Json(static_cast<std::uint64_t>(count)) : Json(text(count));
}

Json json(const Shape& shape) {
  Json object = Json::object();
  for (const auto& [extent, value] : shape) {
    object[extent] = value;
  }
  return object;
}

Json json(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  Json object = Json::object();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value& value = configuration.values.at(i);
    const auto at = std::find(parameters[i].values.begin(), parameters[i].values.end(), value);
    if (!parameters[i].labels.empty() && at != parameters[i].values.end()) {
      object[parameters[i].name] = parameters[i].labels.at(static_cast<std::size_t>(at - parameters[i].values.begin()));
    } else if (value.kind() == Value::Kind::kBoolean) {
      object[parameters[i].name] = value.boolean();
    } else if (value.kind() == Value::Kind::kReal) {
      object[parameters[i].name] = value.real();
    } else {
      object[parameters[i].name] = value.integer();
    }
  }
  return object;
}

Json json(const Resources& resources) {
  return {{"registers", resources.registers},
          {"spill_bytes", resources.spill_bytes},
          {"stack_bytes", resources.stack_bytes},
          {"shared_bytes", resources.shared_bytes},
          {"occupancy", resources.occupancy}};
}

Json json(const std::optional<roofline::Place>& place) {
  return place ? Json{{"name", place->peak.limit->name},
                      {"share", place->share},
                      {"least_us", place->least_us},
                      {"peak_per_second", place->peak.per_second}}
               : Json();
}

Json json(const std::optional<roofline::Occupancy>& occupancy) {
  if (!occupancy) {
    return nullptr;
  }
  Json limits = Json::array();
  for (const roofline::OccupancyLimit limit : occupancy->limits) {
    limits.push_back(roofline::name(limit));
  }
  return {{"blocks", occupancy->blocks}, {"warps", occupancy->warps}, {"most_warps", occupancy->most}, {"limited_by", std::move(limits)}};
}

Json json(const roofline::Peak& peak) {
  return {{"name", peak.limit->name},
          {"what", peak.limit->what},
          {"per_second", peak.per_second},
          {"kernel", peak.kernel},
          {"configuration", peak.configuration},
          {"created_at", peak.created_at}};
}

Json json(const std::map<Outcome, std::int64_t>& outcomes) {
  Json counts = Json::object();
  for (const Outcome outcome : all_outcomes()) {
    const auto found = outcomes.find(outcome);
    counts[std::string(name(outcome))] = found == outcomes.end() ? 0 : found->second;
  }
  return counts;
}

std::string outcomes_text(const std::map<Outcome, std::int64_t>& outcomes) {
  std::string words;
  for (const auto& [outcome, count] : outcomes) {
    words += fmt::format("{}{} {}", words.empty() ? "" : " ", count, name(outcome));
  }
  return words;
}

std::string reached_text(const Objective& objective, double value) {
  return objective.needs_energy() ? objective_text(objective, value) : duration(value);
}

std::string reached_text(const Objective& objective, const Measurement& measurement) {
  const std::string time = duration(measurement.median_us);
  const std::optional<Figure> reached = objective.of(measurement);
  if (objective.is_time()) {
    return time;
  }
  return fmt::format("{} ({})", reached ? reached_text(objective, reached->value) : "not measured", time);
}

void add_reached(Json& object, const Objective& objective, const Measurement& measurement) {
  if (measurement.energy_j) {
    object["energy_j"] = measurement.energy_j->value;
    object["energy_ci95_j"] = {measurement.energy_j->low, measurement.energy_j->high};
  }
  if (const std::optional<Figure> reached = objective.is_time() ? std::nullopt : objective.of(measurement)) {
    object["objective_value"] = reached->value;
    object["objective_ci95"] = {reached->low, reached->high};
  }
}

std::string duration(double microseconds) {
  if (microseconds < 1e3) {
    return fmt::format("{:.2f} us", microseconds);
  }
  return microseconds < 1e6 ? fmt::format("{:.3f} ms", microseconds / 1e3) : fmt::format("{:.2f} s", microseconds / 1e6);
}

Rates rates(const KernelSpec& spec, const Problem& problem, double microseconds) {
  const auto per_second = [&](const Expression& amount) {
    const Result<Value> value = amount.evaluate(bindings(problem));
    return value && microseconds > 0.0 ? value->real() / microseconds * 1e-3 : 0.0;
  };
  return {per_second(spec.cost.flops), per_second(spec.cost.bytes)};
}

std::string rate_text(const Rates& rates) {
  std::string joined = rates.gflops > 0.0 ? fmt::format("{:.4g} GFLOP/s", rates.gflops) : "";
  if (rates.gbytes_per_second > 0.0) {
    joined += fmt::format("{}{:.4g} GB/s", joined.empty() ? "" : ", ", rates.gbytes_per_second);
  }
  return joined;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return lines;
}

Json json(const Prediction& prediction) {
  return {{"slowdown", prediction.slowdown},
          {"doubt", prediction.doubt},
          {"generation", prediction.generation},
          {"shipped", prediction.shipped},
          {"product", prediction.product},
          {"made_for", prediction.made_for},
          {"wants_tuning", prediction.wants_tuning()}};
}

std::string prediction_text(const Prediction& prediction) {
  const std::string from = prediction.shipped ? fmt::format("of {} that came with Hone", prediction.product)
                                              : fmt::format("of generation {}", prediction.generation);
  const std::string made_for = prediction.made_for.empty() ? "" : fmt::format(", made for {}", prediction.made_for);
  return fmt::format("predicted by the portfolio {}{}: {:.2f}x the time that tuning this shape would reach, give or take {:.0f} %{}\n",
                     from, made_for, prediction.slowdown, 100.0 * prediction.doubt,
                     prediction.wants_tuning() ? "; this shape is worth tuning" : "");
}

}  // namespace hone::cli
