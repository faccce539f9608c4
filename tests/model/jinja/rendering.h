// Renders a template with variables from JSON.
#pragma once

#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "model/chat/json_value.h"
#include "model/jinja/template.h"

namespace affine::jinja {

/// 2026-02-03 04:05:06.
inline std::tm SomeTime() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 1;
  time.tm_mday = 3;
  time.tm_hour = 4;
  time.tm_min = 5;
  time.tm_sec = 6;
  time.tm_wday = 2;
  time.tm_yday = 33;
  return time;
}

inline std::string Rendered(const std::string& source,
                            const nlohmann::ordered_json& variables = {{"s", "abc"}}) {
  const size_t bytes = variables.dump().size();
  WorkBudget budget(bytes, bytes / 200);
  const Value values = ValueOf(variables, budget);
  return Template(source).Render(values.dict(), SomeTime(), budget);
}

}  // namespace affine::jinja
