// The tokenizer of a Hugging Face checkpoint: byte-level BPE as in GPT-2, Llama-3, Qwen and SmolLM.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/tokenizer.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/post_processor.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/token_table.h"
#include "model/tokenizer/tokenizer_file.h"

namespace affine {

class ByteLevelTokenizer : public Tokenizer {
 public:
  /// Understands `file`, which may go afterwards. Throws ModelError as LoadTokenizer does. The
  /// file's `truncation` and `padding` are left to the callers, who cut or refuse long prompts.
  explicit ByteLevelTokenizer(const TokenizerFile& file);

  std::vector<int32_t> Encode(std::string_view text, bool add_special_tokens) const override;
  std::string_view TokenBytes(int32_t id) const override { return tokens_.Find(id); }
  bool IsSpecial(int32_t id) const override { return special_ids_.contains(id); }
  int32_t vocab_size() const override { return tokens_.id_end(); }
  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override;

 private:
  ByteLevelTokenizer(const TokenizerFile& file, const ConfigNode& config,
                     const Vocabulary& vocabulary, const ByteAlphabet& alphabet);
  void FillTokens(const TokenizerFile& file, const ByteAlphabet& alphabet);
  void CheckSpecialTokens(const ConfigNode& config) const;
  void EncodeSegment(std::string_view text, PreTokenizer::Scratch* scratch,
                     std::vector<int32_t>* ids) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  PostProcessor post_processor_;
  BpeModel model_;
  AddedTokens added_tokens_;
  std::unordered_set<int32_t> special_ids_;
  TokenTable tokens_;
};

}  // namespace affine
