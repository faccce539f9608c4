// How much memory the key-value cache takes.
#pragma once

#include <cstdint>
#include <optional>

namespace affine {

/// Bytes of cache for --kv_cache_gib: as given, or for 0 a quarter of `available`, at most 4 GiB
/// and at least 64 MiB. Without knowledge of what is available, 1 GiB.
int64_t CacheBytes(double kv_cache_gib, std::optional<int64_t> available);

}  // namespace affine
