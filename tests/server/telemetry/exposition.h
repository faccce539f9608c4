// Reads Prometheus' text format, as far as the tests need it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace affine {

/// The samples of a page by series, written as on the page: `name{label="value"}`.
class Exposition {
 public:
  explicit Exposition(const std::string& page);
  bool Has(const std::string& series) const { return values_.count(series) > 0; }
  /// Throws std::out_of_range, naming the series, if there is none.
  double Value(const std::string& series) const;
  /// "counter", "gauge" or "histogram"; empty without a TYPE line.
  std::string TypeOf(const std::string& family) const;
  /// Every series whose name, before any label, is `name`.
  std::vector<std::string> SeriesOf(const std::string& name) const;

 private:
  std::map<std::string, double> values_;
  std::map<std::string, std::string> types_;
};

}  // namespace affine
