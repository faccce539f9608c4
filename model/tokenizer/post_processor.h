// The special tokens around an encoded text.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tokenizer/config_node.h"

namespace affine {

/// What stands before and behind the text's own ids when special tokens are wanted.
class PostProcessor {
 public:
  /// Reads null, `ByteLevel` (which changes offsets alone), the `single` template of
  /// `TemplateProcessing`, or a `Sequence` with at most one template. Throws ModelError for others.
  explicit PostProcessor(const ConfigNode& config);

  const std::vector<int32_t>& prefix() const { return prefix_; }
  const std::vector<int32_t>& suffix() const { return suffix_; }

 private:
  void Read(const ConfigNode& config);
  void ReadTemplate(const ConfigNode& config);
  void AddSpecialToken(const ConfigNode& piece, const ConfigNode& special_tokens);

  std::vector<int32_t> prefix_;
  std::vector<int32_t> suffix_;
  bool has_template_ = false;
  bool seen_text_ = false;
};

}  // namespace affine
