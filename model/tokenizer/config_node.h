// One value of tokenizer.json, with its place in the file for error messages.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/model_error.h"

namespace affine {

/// A view of a parsed value; the document outlives it. Every accessor throws ModelError, naming
/// file and key, when the value is not what was asked for.
class ConfigNode {
 public:
  ConfigNode(const nlohmann::json* value, std::string file)
      : value_(value), file_(std::move(file)) {}

  /// Absent or null.
  bool IsNull() const { return value_ == nullptr || value_->is_null(); }
  bool IsString() const { return !IsNull() && value_->is_string(); }

  /// The member `key`, which may be absent. This must be an object.
  ConfigNode Member(const std::string& key) const;
  /// The members of an object by key, the elements of an array.
  std::vector<std::pair<std::string, ConfigNode>> Members() const;
  std::vector<ConfigNode> Elements() const;

  const std::string& String() const;
  bool Bool() const;
  bool BoolOr(bool absent) const { return IsNull() ? absent : Bool(); }
  /// An integer in 0..kMaxTokenId.
  int32_t TokenId() const;

  void RequireZeroOrNull() const;

  /// Throws "FILE: KEY: why".
  [[noreturn]] void Refuse(const std::string& why) const;

  /// The largest id, so that one more (the size of the vocabulary) is still an int32_t.
  static constexpr int64_t kMaxTokenId = INT32_MAX - 1;

 private:
  ConfigNode(const nlohmann::json* value, const std::string& file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}
  [[noreturn]] void RefuseType(const std::string& wanted) const;

  const nlohmann::json* value_;  // null when absent
  std::string file_;
  std::string path_;
};

}  // namespace affine
