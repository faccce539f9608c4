// Tokens that are cut out of a text before it is split into words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/config_node.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/regex.h"
#include "model/tokenizer/token_trie.h"
#include "model/tokenizer/vocabulary.h"

namespace affine {

/// One entry of `added_tokens`.
struct AddedToken {
  int32_t id;
  std::string content;  // normalized already if the token is
  bool single_word;     // only where no word character touches it
  bool lstrip;          // takes the white space on its left along
  bool rstrip;
  bool normalized;  // looked for in the normalized text
  bool special;
};

/// Reads like Hugging Face's tokenizers: a token that the model's vocabulary has takes its id from
/// there, the others are numbered from the vocabulary's size on.
class AddedTokens {
 public:
  static constexpr size_t kMaxTokens = 65536;
  static constexpr size_t kMaxTokenBytes = 1024;

  /// Throws ModelError for malformed entries, and when an entry's `id` is not the one that Hugging
  /// Face would give it or belongs to another token.
  AddedTokens(const ConfigNode& config, const Normalizer& normalizer, const Vocabulary& vocabulary);

  /// A part of a text: an added token, or plain text if `id` is -1.
  struct Segment {
    std::string_view text;
    int32_t id;
  };
  /// Cuts `text` (valid UTF-8) at the added tokens that are looked for before normalization, or at
  /// those that are looked for after it, and appends the parts. Thread-safe, one scratch each.
  void Cut(std::string_view text, bool normalized, RegexScratch* scratch,
           std::vector<Segment>* segments) const;

  /// In the file's order, later entries for the same id replacing earlier ones.
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  static AddedToken Read(const ConfigNode& config);
  void Keep(AddedToken token);
  void BuildTries();
  bool TouchesWord(std::string_view text, const TokenTrie::Match& match,
                   RegexScratch* scratch) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> index_;  // into tokens_, by id
  Regex word_character_;
  std::unique_ptr<TokenTrie> verbatim_;
  std::unique_ptr<TokenTrie> normalized_;
};

}  // namespace affine
