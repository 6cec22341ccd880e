#pragma once
// Reads the metrics' text as strictly as Prometheus and its linter do: what breaks a rule is a doctest failure.

#include <map>
#include <string>
#include <string_view>

namespace hone::test {

using Labels = std::map<std::string, std::string>;

struct Family {
  std::string type, help;
  std::map<Labels, double> samples;
};

class Exposition {
 public:
  explicit Exposition(std::string_view text);
  [[nodiscard]] bool has(const std::string& name) const { return families_.contains(name); }
  [[nodiscard]] const Family& family(const std::string& name) const;
  /// A doctest failure where there is no such sample.
  [[nodiscard]] double value(const std::string& name, const Labels& labels = {}) const;
  [[nodiscard]] const std::map<std::string, Family>& families() const { return families_; }

 private:
  std::map<std::string, Family> families_;
};

}  // namespace hone::test
