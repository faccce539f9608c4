// Reads the members of a JSON object by name and type, and keeps the first thing that is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/request_error.h"

namespace affine {

/// A member that is absent or null is not given. A whole number may be written with a fraction of
/// zero (16.0). After the first error readers answer "not given".
class JsonFields {
 public:
  /// `object` outlives this. `prefix` is put before names in messages ("stream_options.").
  explicit JsonFields(const nlohmann::json& object, std::string prefix = "");
  /// The member, or null if it is not given.
  const nlohmann::json* Find(std::string_view name) const;
  std::optional<int64_t> Integer(std::string_view name);
  /// 64 bits, from -2^63 to 2^64 - 1; negative ones as their two's complement.
  std::optional<uint64_t> Bits(std::string_view name);
  std::optional<double> Number(std::string_view name);
  std::optional<bool> Flag(std::string_view name);
  std::optional<std::string> String(std::string_view name);
  /// An array of strings, or one string alone.
  std::vector<std::string> Strings(std::string_view name);
  std::vector<int64_t> Integers(std::string_view name);
  /// The integers of `array`, which stands under `name`.
  std::vector<int64_t> IntegersOf(const nlohmann::json& array, const std::string& name);
  /// An object from ids, written as whole numbers in quotation marks, to numbers.
  std::vector<std::pair<int64_t, double>> NumbersById(std::string_view name);
  /// "`name` is VALUE; it must be ALLOWED", unless something was wrong before. For the log, the
  /// kind of value only.
  void Refuse(std::string_view name, const nlohmann::json& value, std::string_view allowed);
  /// A message of one's own about `name`, unless something was wrong before. With a `log_message`
  /// if it repeats what the caller sent.
  void Fail(std::string_view name, std::string message, std::string log_message = "");
  const std::optional<RequestError>& error() const { return error_; }

 private:
  const nlohmann::json& object_;
  const std::string prefix_;
  std::optional<RequestError> error_;
};

}  // namespace affine
