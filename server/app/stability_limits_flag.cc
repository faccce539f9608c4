#include "server/app/stability_limits_flag.h"

#include <charconv>
#include <utility>

#include "server/app/comma_list.h"

namespace affine {
namespace {

struct Limit {
  std::string_view name;
  std::optional<double> StabilityLimits::*field;
};

constexpr Limit kLimits[] = {{"largest_score", &StabilityLimits::largest_score},
                             {"entropy", &StabilityLimits::entropy},
                             {"alpha_drift", &StabilityLimits::alpha_drift}};

/// Takes one LIMIT=NUMBER into `limits`, or says what is wrong with it.
std::optional<std::string> Read(const std::string& part, StabilityLimits& limits) {
  const size_t equals = part.find('=');
  if (equals == std::string::npos) {
    return "'" + part + "' in it must be LIMIT=NUMBER, such as largest_score=80";
  }
  const std::string name = part.substr(0, equals);
  const std::string number = part.substr(equals + 1);
  for (const Limit& limit : kLimits) {
    if (limit.name != name) continue;
    if (limits.*limit.field) return name + " is in it twice; give each limit once";
    limits.*limit.field = PositiveNumber(number);
    if (limits.*limit.field) return std::nullopt;
    return name + " must be a finite number above 0, not '" + number +
           "'; leave a limit out to have none";
  }
  return "there is no limit '" + name + "'; there are largest_score, entropy and alpha_drift";
}

std::optional<std::string> Set(std::string_view text, Config& config) {
  StabilityLimits limits;
  for (const std::string& part : CommaList(text)) {
    if (auto problem = Read(part, limits)) return problem;
  }
  config.stability_limits = limits;
  return std::nullopt;
}

std::string Show(const Config& config) {
  std::string text;
  for (const Limit& limit : kLimits) {
    const std::optional<double>& value = config.stability_limits.*limit.field;
    if (!value) continue;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, *value).ptr;
    text.append(text.empty() ? "" : ",").append(limit.name).append("=").append(digits, end);
  }
  return text;
}

}  // namespace

Flag StabilityLimitsFlag() {
  Flag flag;
  flag.name = "stability_limits";
  flag.value_name = "LIMIT=X,...";
  flag.set = Set;
  flag.show = Show;
  return flag;
}

}  // namespace affine
