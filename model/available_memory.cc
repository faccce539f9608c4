#include "model/available_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace affine {
namespace {

/// One version of control groups: where it is mounted and what its files are called.
struct GroupVersion {
  std::string mount;  // under the root
  std::string limit;
  std::string used;         // cached file pages included
  std::string active_file;  // keys in memory.stat, for the group and those below it
  std::string inactive_file;
};

const GroupVersion kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "active_file",
                                "inactive_file"};
const GroupVersion kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                "memory.usage_in_bytes", "total_active_file",
                                "total_inactive_file"};

std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  // Absent, or "max" where there is no limit.
  if (int64_t value = 0; file >> value) return value;
  return std::nullopt;
}

/// The number after `key` at the beginning of a line.
std::optional<int64_t> ReadEntry(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (int64_t value = 0; words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

/// What the limit of the group in `folder` leaves; unset where there is none.
std::optional<int64_t> LeftInGroup(const std::string& folder, const GroupVersion& version) {
  const auto limit = ReadNumber(folder + "/" + version.limit);
  const auto used = ReadNumber(folder + "/" + version.used);
  if (!limit || !used) return std::nullopt;
  const std::string stat = folder + "/memory.stat";
  const int64_t cached = ReadEntry(stat, version.active_file).value_or(0) +
                         ReadEntry(stat, version.inactive_file).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *used - cached));
}

/// This process' group below the mount ("/a/b"). Lines are "ID:CONTROLLERS:PATH", without
/// controllers in version 2. Empty where it isn't said.
std::string OwnGroup(const std::string& root, bool version2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    const std::string listed = "," + controllers + ",";
    const bool wanted =
        version2 ? controllers.empty() : listed.find(",memory,") != std::string::npos;
    if (wanted) return path;
  }
  return "";
}

/// The least that the group and those around it leave. A container may see its own group as the
/// mount and still be told its path outside; then no folder of that path is there.
std::optional<int64_t> LeftInGroups(const std::string& root, const GroupVersion& version,
                                    std::string group) {
  std::optional<int64_t> least;
  while (true) {
    const auto left = LeftInGroup(root + version.mount + group, version);
    if (left && (!least || *left < *least)) least = left;
    if (group.empty()) return least;
    const size_t slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
  }
}

std::optional<int64_t> LeftInKernel(const std::string& root) {
  const auto kib = ReadEntry(root + "/proc/meminfo", "MemAvailable:");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

}  // namespace

std::optional<int64_t> AvailableMemory(const std::string& root) {
  std::optional<int64_t> least = LeftInKernel(root);
  for (const auto& left : {LeftInGroups(root, kVersion2, OwnGroup(root, true)),
                           LeftInGroups(root, kVersion1, OwnGroup(root, false))}) {
    if (left && (!least || *left < *least)) least = left;
  }
  return least;
}

}  // namespace affine
