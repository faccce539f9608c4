#include "server/grammar/grammar_cache.h"

#include <utility>

namespace affine {

std::string KeyOf(const StructuredOutput& form) {
  std::string key = std::to_string(static_cast<int>(form.kind)) + ":" + form.text;
  for (const std::string& choice : form.choices) {
    key.append(std::to_string(choice.size())).append(":").append(choice);
  }
  return key;
}

std::shared_ptr<const OutputGrammar> GrammarCache::Find(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->grammar;
}

void GrammarCache::Add(const std::string& key, std::shared_ptr<const OutputGrammar> grammar) {
  const size_t bytes = 2 * key.size() + grammar->bytes();
  if (bytes > max_bytes_ || by_key_.contains(key)) return;
  while (bytes_ + bytes > max_bytes_) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, std::move(grammar), bytes});
  by_key_[key] = entries_.begin();
  bytes_ += bytes;
}

}  // namespace affine
