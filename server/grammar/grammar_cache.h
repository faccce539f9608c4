// Compiled grammars by what they were compiled from.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "server/request/output_grammar.h"
#include "server/request/structured_output.h"

namespace affine {

/// What distinguishes a form from others: its kind and all of its text.
std::string KeyOf(const StructuredOutput& form);

/// Drops what was not asked for the longest once keys and grammars take more than `max_bytes`.
/// Whoever uses a dropped grammar keeps it. Not thread-safe.
class GrammarCache {
 public:
  explicit GrammarCache(size_t max_bytes) : max_bytes_(max_bytes) {}
  /// Null if it is not there.
  std::shared_ptr<const OutputGrammar> Find(const std::string& key);
  /// A grammar larger than all of the cache is not kept.
  void Add(const std::string& key, std::shared_ptr<const OutputGrammar> grammar);
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const OutputGrammar> grammar;
    size_t bytes;
  };
  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace affine
