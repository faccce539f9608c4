#include "server/app/comma_list.h"

#include <absl/flags/marshalling.h>

#include <cmath>

namespace affine {

std::vector<std::string> CommaList(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  parts.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\,") {
      parts.back() += text[++i];
    } else if (text[i] == ',') {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::optional<double> PositiveNumber(std::string_view text) {
  double value = 0;
  std::string error;
  if (!absl::ParseFlag(absl::string_view(text.data(), text.size()), &value, &error) ||
      !std::isfinite(value) || value <= 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace affine
