// One flag: its name, its limits, its help, and the field of Config that it sets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/app/config.h"

namespace affine {

struct Flag {
  std::string name;        // as in --name, words joined by underscores
  std::string group;       // heading in the help
  std::string value_name;  // as in --name=VALUE; empty: a boolean
  std::string help;
  bool secret = false;  // its value is never shown
  /// Sets the field, or says what the value must be and what to do ("must be ...; ...").
  std::function<std::optional<std::string>(std::string_view, Config&)> set;
  /// The field's value as it would be written.
  std::function<std::string(const Config&)> show;

  bool boolean() const { return value_name.empty(); }
  /// "AFFINE_NAME".
  std::string environment_name() const;
};

/// A closed interval; `remedy` is shown to whoever is outside it.
struct IntegerRange {
  int64_t min = 0;
  int64_t max = 0;
  std::string remedy;
  bool auto_is_zero = false;  // "auto" and -1 are other words for 0
  bool multiple_of_16 = false;
};

struct NumberRange {
  double min = 0;
  double max = 0;
  std::string remedy;
};

/// Whole numbers may end in k (1000), K (1024), m (10^6) or M (2^20), as in vLLM.
Flag IntegerFlag(std::string name, int64_t Config::*field, IntegerRange range);
Flag NumberFlag(std::string name, double Config::*field, NumberRange range);
Flag BooleanFlag(std::string name, bool Config::*field);
/// `choices`: the values allowed; empty allows every text.
Flag TextFlag(std::string name, std::string Config::*field, std::vector<std::string> choices = {});

}  // namespace affine
