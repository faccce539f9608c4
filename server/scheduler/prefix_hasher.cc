#include "server/scheduler/prefix_hasher.h"

#include <array>

namespace affine {

Hash128 PrefixHasher::Root(std::string_view cache_salt) const {
  return SipHash128(key_, {reinterpret_cast<const uint8_t*>(cache_salt.data()), cache_salt.size()});
}

Hash128 PrefixHasher::Child(const Hash128& parent, std::span<const int32_t> tokens) const {
  SipHasher hasher(key_);
  hasher.Add(parent.low);
  hasher.Add(parent.high);
  for (; tokens.size() >= 2; tokens = tokens.subspan(2)) {
    hasher.Add(uint64_t{static_cast<uint32_t>(tokens[0])} |
               uint64_t{static_cast<uint32_t>(tokens[1])} << 32);
  }
  if (tokens.empty()) return hasher.Finish();
  const uint32_t last = static_cast<uint32_t>(tokens[0]);
  const std::array<uint8_t, 4> tail = {static_cast<uint8_t>(last), static_cast<uint8_t>(last >> 8),
                                       static_cast<uint8_t>(last >> 16),
                                       static_cast<uint8_t>(last >> 24)};
  return hasher.Finish(tail);
}

}  // namespace affine
