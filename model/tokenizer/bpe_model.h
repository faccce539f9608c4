// Byte pair encoding of one word.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/config_node.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/token_index.h"
#include "model/tokenizer/vocabulary.h"

namespace affine {

/// Immutable; Encode is safe to call from several threads.
class BpeModel {
 public:
  /// `config` is the file's `model`. Throws ModelError, naming it, for a model other than BPE, for
  /// an option that is not supported, and for merges of tokens that the vocabulary lacks.
  BpeModel(const ConfigNode& config, const TokenizerFile& file, const Vocabulary& vocabulary,
           const ByteAlphabet& alphabet);

  /// Appends the ids of `word`, whose bytes stand for themselves. Takes O(n log n) for n bytes.
  void Encode(std::string_view word, std::vector<int32_t>* ids) const;

 private:
  void ReadOptions(const ConfigNode& config, const Vocabulary& vocabulary);
  void ReadMerges(const TokenizerFile& file, const Vocabulary& vocabulary);
  void ReadBytes(const Vocabulary& vocabulary, const ByteAlphabet& alphabet);
  void ReadWholeWords(const TokenizerFile& file, const ByteAlphabet& alphabet);
  size_t FirstSymbols(std::string_view word, int32_t* symbols) const;
  void MergeShort(int32_t* symbols, size_t count, std::vector<int32_t>* ids) const;
  void EncodeLong(std::string_view word, std::vector<int32_t>* ids) const;
  void EncodeByMerging(std::string_view word, std::vector<int32_t>* ids) const;

  MergeTable merges_;
  /// The id of each byte's own token, -1 where the vocabulary has none.
  std::array<int32_t, 256> byte_ids_;
  int32_t unknown_id_ = -1;  // stands for bytes without a token; without it they vanish
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false;
  /// Words that are one token: all of the vocabulary with ignore_merges, else those tokens that
  /// merging their own bytes gives back.
  TokenIndex whole_words_;
};

}  // namespace affine
