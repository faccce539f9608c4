#include "server/app/host_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace affine {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kGib = int64_t{1} << 30;

std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  // Absent, or "max" where there is no limit.
  if (int64_t value = 0; file >> value) return value;
  return std::nullopt;
}

std::optional<int64_t> KernelAvailable(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

std::optional<int64_t> Left(const std::string& limit_path, const std::string& used_path) {
  const auto limit = ReadNumber(limit_path);
  const auto used = ReadNumber(used_path);
  if (!limit || !used) return std::nullopt;
  return std::max<int64_t>(0, *limit - *used);
}

}  // namespace

std::optional<int64_t> AvailableMemory(const std::string& root) {
  const std::string group = root + "/sys/fs/cgroup/";
  std::optional<int64_t> least = KernelAvailable(root);
  for (const auto& left :
       {Left(group + "memory.max", group + "memory.current"),
        Left(group + "memory/memory.limit_in_bytes", group + "memory/memory.usage_in_bytes")}) {
    if (left && (!least || *left < *least)) least = left;
  }
  return least;
}

int64_t CacheBytes(double kv_cache_gib, std::optional<int64_t> available) {
  if (kv_cache_gib > 0) return static_cast<int64_t>(kv_cache_gib * static_cast<double>(kGib));
  if (!available) return kGib;
  return std::clamp(*available / 4, 64 * kMib, 4 * kGib);
}

}  // namespace affine
