#include "server/scheduler/prompt_groups.h"

#include <algorithm>

namespace affine {

void PromptGroups::Join(Sequence& first, Sequence& another) {
  std::vector<Sequence*>& group = groups_[first.id];
  if (group.empty()) group.push_back(&first);
  group.push_back(&another);
  first.group = another.group = first.id;
}

void PromptGroups::Leave(const Sequence& sequence) {
  const auto group = groups_.find(sequence.group);
  if (group == groups_.end()) return;
  std::erase(group->second, &sequence);
  if (group->second.empty()) groups_.erase(group);
}

const std::vector<Sequence*>* PromptGroups::SiblingsOf(const Sequence& sequence) const {
  if (sequence.group == 0) return nullptr;
  const auto group = groups_.find(sequence.group);
  return group == groups_.end() ? nullptr : &group->second;
}

const Sequence* PromptGroups::SourceOf(const Sequence& sequence) const {
  const std::vector<Sequence*>* siblings = SiblingsOf(sequence);
  const int32_t shared = sequence.prompt_length - 1;
  if (siblings == nullptr || shared == 0) return nullptr;
  const auto source = std::ranges::find_if(*siblings, [&](const Sequence* sibling) {
    return sibling != &sequence && sibling->state == Sequence::State::kRunning &&
           sibling->num_computed >= shared;
  });
  return source == siblings->end() ? nullptr : *source;
}

bool PromptGroups::MustWait(const Sequence& sequence) const {
  const std::vector<Sequence*>* siblings = SiblingsOf(sequence);
  return siblings != nullptr && siblings->front() != &sequence && sequence.prompt_length > 1 &&
         SourceOf(sequence) == nullptr;
}

bool PromptGroups::IsAwaited(const Sequence& sequence) const {
  const std::vector<Sequence*>* siblings = SiblingsOf(sequence);
  return siblings != nullptr && siblings->front() == &sequence &&
         sequence.length() == sequence.prompt_length &&
         std::ranges::any_of(*siblings, [&](const Sequence* sibling) {
           return sibling != &sequence && sibling->state == Sequence::State::kWaiting;
         });
}

}  // namespace affine
