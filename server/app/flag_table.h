// The one list of flags, from which parsing, environment, help and README follow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/app/flag.h"

namespace affine {

/// Immutable; thread-safe.
class FlagTable {
 public:
  FlagTable();
  /// In the order in which the help shows them, groups together.
  const std::vector<Flag>& flags() const { return flags_; }
  /// The flag called `name`, where `-` and `_` are the same; nullptr if there is none.
  const Flag* Find(std::string_view name) const;
  std::vector<std::string> Names() const;

 private:
  void AddModelFlags();
  void AddPortFlags();
  void AddBatchFlags();
  void AddSpeculationFlags();
  void AddGrammarFlags();
  void AddStabilityFlags();
  void AddProcessFlags();
  /// Completes `flag` and keeps it. An empty `value_name` leaves the one that its kind has.
  void Add(const std::string& group, Flag flag, const std::string& value_name, std::string help);

  std::vector<Flag> flags_;
};

}  // namespace affine
