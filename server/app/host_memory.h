// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace affine {

/// Bytes that can be allocated without swapping: the kernel's MemAvailable, or what the control
/// group (v2 or v1) leaves, whichever is less. Unset if neither can be read. `root` stands for "/".
std::optional<int64_t> AvailableMemory(const std::string& root = "");

/// Bytes of cache for --kv_cache_gib: as given, or for 0 a quarter of `available`, at most 4 GiB
/// and at least 64 MiB. Without knowledge of what is available, 1 GiB.
int64_t CacheBytes(double kv_cache_gib, std::optional<int64_t> available);

}  // namespace affine
