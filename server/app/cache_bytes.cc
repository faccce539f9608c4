#include "server/app/cache_bytes.h"

#include <algorithm>

namespace affine {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kGib = int64_t{1} << 30;

}  // namespace

int64_t CacheBytes(double kv_cache_gib, std::optional<int64_t> available) {
  if (kv_cache_gib > 0) return static_cast<int64_t>(kv_cache_gib * static_cast<double>(kGib));
  if (!available) return kGib;
  return std::clamp(*available / 4, 64 * kMib, 4 * kGib);
}

}  // namespace affine
