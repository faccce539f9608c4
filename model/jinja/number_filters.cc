#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>

#include "model/jinja/filter_call.h"
#include "model/jinja/operators.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

constexpr double kIntegerEnd = 9223372036854775808.0;  // 2^63

// A number as Python reads it from a string: with white space around it.
template <typename Number>
std::optional<Number> Read(std::string_view text) {
  text = Strip(text);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  Number number{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::optional<int64_t> Truncated(double number) {
  if (!(number > -kIntegerEnd && number < kIntegerEnd)) return std::nullopt;
  return static_cast<int64_t>(number);
}

Value Int(const FilterCall& call) {
  const Parameters given = call.Bind({"default", "base"});
  if (given.Integer(1, 10) != 10) throw TemplateError("int with another base is not supported");
  const Value otherwise = given.Given(0) != nullptr ? *given.Given(0) : Value(0);
  if (const auto integer = IntegerOf(call.subject)) return *integer;
  std::optional<double> number = NumberOf(call.subject);
  if (call.subject.IsString()) {
    if (const auto integer = Read<int64_t>(call.subject.string())) return *integer;
    number = Read<double>(call.subject.string());
  } else if (!number) {
    RequireDefined(call.subject);
  }
  const std::optional<int64_t> whole = number ? Truncated(*number) : std::nullopt;
  return whole ? Value(*whole) : otherwise;
}

Value Float(const FilterCall& call) {
  const Parameters given = call.Bind({"default"});
  std::optional<double> number = NumberOf(call.subject);
  if (call.subject.IsString()) number = Read<double>(call.subject.string());
  if (number) return *number;
  RequireDefined(call.subject);
  return given.Given(0) != nullptr ? *given.Given(0) : Value(0.0);
}

Value Abs(const FilterCall& call) {
  call.Bind({});
  const auto number = NumberOf(call.subject);
  return Signed(number && *number < 0 ? Operator::kNegative : Operator::kPositive, call.subject);
}

// Python's round: to the even one of two that are equally near.
double Rounded(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision == 0) return std::nearbyint(number);
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(std::min<int64_t>(-precision, 400)));
    return std::nearbyint(number / scale) * scale;
  }
  char buffer[700];
  std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(precision), number);
  return std::strtod(buffer, nullptr);
}

Value Round(const FilterCall& call) {
  const Parameters given = call.Bind({"precision", "method"});
  const int64_t precision = given.Integer(0, 0);
  const std::string_view method = given.Text(1, "common");
  const auto number = NumberOf(call.subject);
  if (!number) {
    RequireDefined(call.subject);
    throw TemplateError(std::string("a ") + TypeName(call.subject) + " can't be rounded");
  }
  if (method == "common") {
    if (const auto whole = IntegerOf(call.subject); whole && precision >= 0) return *whole;
    return Rounded(*number, precision);
  }
  if (method != "ceil" && method != "floor") {
    throw TemplateError("round needs one of common, ceil and floor as method");
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *number * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

struct Named {
  std::string_view name;
  FilterFunction function;
};

constexpr Named kFilters[] = {{"int", Int}, {"float", Float}, {"abs", Abs}, {"round", Round}};

}  // namespace

FilterFunction FindNumberFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const Named& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found->function;
}

}  // namespace affine::jinja
