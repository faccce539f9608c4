#include "model/checkpoint/problem_list.h"

#include <algorithm>

#include "model/model_error.h"

namespace affine {

void ProblemList::Add(std::string_view kind, std::string what) {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& candidate) { return candidate.kind == kind; });
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), Group{std::string(kind), {}, 0});
  }
  ++group->count;
  if (group->listed.size() < kListedPerKind) group->listed.push_back(std::move(what));
}

void ProblemList::ThrowIfAny(const std::string& heading, const std::string& remedy) const {
  if (empty()) return;
  std::string text = heading;
  for (const Group& group : groups_) {
    for (const std::string& what : group.listed) text += "\n  " + group.kind + ": " + what;
    if (group.count > group.listed.size()) {
      text += "\n  " + group.kind + ": and " + std::to_string(group.count - group.listed.size()) +
              " more";
    }
  }
  throw ModelError(text + "\n" + remedy);
}

}  // namespace affine
