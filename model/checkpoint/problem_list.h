// Faults found in a checkpoint, gathered so that one error names them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// Not thread-safe.
class ProblemList {
 public:
  /// At most this many of a kind are listed; the rest are counted.
  static constexpr size_t kListedPerKind = 20;

  /// `kind` heads the group ("missing", "wrong shape"); groups keep the order of their first fault.
  void Add(std::string_view kind, std::string what);
  bool empty() const { return groups_.empty(); }
  /// Throws one ModelError if there is any fault: heading, a line for each fault, remedy.
  void ThrowIfAny(const std::string& heading, const std::string& remedy) const;

 private:
  struct Group {
    std::string kind;
    std::vector<std::string> listed;
    size_t count = 0;
  };
  std::vector<Group> groups_;
};

}  // namespace affine
