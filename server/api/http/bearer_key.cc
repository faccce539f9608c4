#include "server/api/http/bearer_key.h"

#include <utility>

#include "server/api/http/http_message.h"

namespace affine {

BearerKey::BearerKey(std::string key) : key_(std::move(key)) {}

bool BearerKey::Accepts(std::string_view authorization) const {
  if (key_.empty()) return true;
  constexpr std::string_view kScheme = "Bearer ";
  if (!EqualsIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return false;
  const std::string_view shown = authorization.substr(kScheme.size());
  // Every byte shown is looked at, so that the time does not tell how many were right.
  unsigned difference = shown.size() == key_.size() ? 0 : 1;
  for (size_t i = 0; i < shown.size(); ++i) {
    difference |= static_cast<unsigned char>(shown[i] ^ key_[i % key_.size()]);
  }
  return difference == 0;
}

}  // namespace affine
