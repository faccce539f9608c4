// The API key that callers show.
#pragma once

#include <string>
#include <string_view>

namespace affine {

/// Thread-safe.
class BearerKey {
 public:
  /// Empty: everyone may call.
  explicit BearerKey(std::string key);
  /// Whether the value of an Authorization header carries the key. Takes the same time for every
  /// wrong key of one length.
  bool Accepts(std::string_view authorization) const;

 private:
  const std::string key_;
};

}  // namespace affine
