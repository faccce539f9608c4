// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace affine {

/// Bytes that can be allocated without swapping: the kernel's MemAvailable, or the least that the
/// memory limits of this process' control group and of those around it (v2 or v1) leave, whichever
/// is less. Cached file pages count as free, since they go when memory is wanted. Unset if nothing
/// can be read. `root` stands for "/".
std::optional<int64_t> AvailableMemory(const std::string& root = "");

}  // namespace affine
