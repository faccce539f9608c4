#include "tests/server/telemetry/exposition.h"

#include <sstream>
#include <stdexcept>

namespace affine {

Exposition::Exposition(const std::string& page) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) == 0) {
      std::istringstream words(line.substr(7));
      std::string name, type;
      words >> name >> type;
      types_[name] = type;
    } else if (!line.empty() && line[0] != '#') {
      const size_t space = line.rfind(' ');
      values_[line.substr(0, space)] = std::stod(line.substr(space + 1));
    }
  }
}

double Exposition::Value(const std::string& series) const {
  const auto found = values_.find(series);
  if (found == values_.end()) throw std::out_of_range("no series " + series);
  return found->second;
}

std::string Exposition::TypeOf(const std::string& family) const {
  const auto found = types_.find(family);
  return found == types_.end() ? "" : found->second;
}

std::vector<std::string> Exposition::SeriesOf(const std::string& name) const {
  std::vector<std::string> series;
  for (const auto& [key, value] : values_) {
    if (key.substr(0, key.find('{')) == name) series.push_back(key);
  }
  return series;
}

}  // namespace affine
