#include "server/app/flag.h"

#include <absl/flags/marshalling.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace affine {
namespace {

/// The factor that a size's last letter stands for; 1 for none.
int64_t SizeFactor(std::string_view text) {
  if (text.empty()) return 1;
  switch (text.back()) {
    case 'k':
      return 1000;
    case 'K':
      return 1024;
    case 'm':
      return 1'000'000;
    case 'M':
      return 1 << 20;
    default:
      return 1;
  }
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  const int64_t factor = SizeFactor(text);
  if (factor != 1) text.remove_suffix(1);
  int64_t count = 0;
  int64_t value = 0;
  std::string error;
  const bool whole = absl::ParseFlag(absl::string_view(text.data(), text.size()), &count, &error);
  if (!whole || __builtin_mul_overflow(count, factor, &value)) return std::nullopt;
  return value;
}

std::string WithRemedy(std::string text, const std::string& remedy) {
  return remedy.empty() ? text : text + "; " + remedy;
}

std::string ShortNumber(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string IntegerLimits(const IntegerRange& range) {
  std::string limits =
      range.multiple_of_16 ? "must be a multiple of 16 from " : "must be a whole number from ";
  limits += std::to_string(range.min) + " to " + std::to_string(range.max);
  if (range.auto_is_zero) limits += ", or auto";
  return WithRemedy(std::move(limits), range.remedy);
}

std::string JoinedChoices(const std::vector<std::string>& choices) {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : ", ") + choice;
  return text;
}

}  // namespace

std::string Flag::environment_name() const {
  std::string upper = "AFFINE_" + name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return upper;
}

Flag IntegerFlag(std::string name, int64_t Config::*field, IntegerRange range) {
  Flag flag;
  flag.name = std::move(name);
  flag.value_name = "N";
  flag.set = [field, range](std::string_view text, Config& config) -> std::optional<std::string> {
    std::optional<int64_t> value = ParseInteger(text);
    if (range.auto_is_zero && (text == "auto" || value == -1)) value = 0;
    const bool allowed = value && *value >= range.min && *value <= range.max &&
                         (!range.multiple_of_16 || *value % 16 == 0);
    if (!allowed) return IntegerLimits(range);
    config.*field = *value;
    return std::nullopt;
  };
  flag.show = [field](const Config& config) { return std::to_string(config.*field); };
  return flag;
}

Flag NumberFlag(std::string name, double Config::*field, NumberRange range) {
  Flag flag;
  flag.name = std::move(name);
  flag.value_name = "X";
  flag.set = [field, range](std::string_view text, Config& config) -> std::optional<std::string> {
    double value = 0;
    std::string error;
    const bool number =
        absl::ParseFlag(absl::string_view(text.data(), text.size()), &value, &error);
    // Written so that NaN is outside.
    if (!number || !(value >= range.min && value <= range.max)) {
      return WithRemedy(
          "must be a number from " + ShortNumber(range.min) + " to " + ShortNumber(range.max),
          range.remedy);
    }
    config.*field = value;
    return std::nullopt;
  };
  flag.show = [field](const Config& config) { return ShortNumber(config.*field); };
  return flag;
}

Flag BooleanFlag(std::string name, bool Config::*field) {
  Flag flag;
  flag.name = name;
  flag.set = [field, name](std::string_view text, Config& config) -> std::optional<std::string> {
    std::string error;
    if (absl::ParseFlag(absl::string_view(text.data(), text.size()), &(config.*field), &error)) {
      return std::nullopt;
    }
    return "must be true or false; --no" + name + " is short for false";
  };
  flag.show = [field](const Config& config) { return config.*field ? "true" : "false"; };
  return flag;
}

Flag TextFlag(std::string name, std::string Config::*field, std::vector<std::string> choices) {
  Flag flag;
  flag.name = std::move(name);
  flag.value_name = "TEXT";
  flag.set = [field, choices](std::string_view text, Config& config) -> std::optional<std::string> {
    const bool allowed = choices.empty() || std::count(choices.begin(), choices.end(), text) > 0;
    if (!allowed) return "must be one of " + JoinedChoices(choices);
    config.*field = text;
    return std::nullopt;
  };
  flag.show = [field](const Config& config) { return config.*field; };
  return flag;
}

}  // namespace affine
