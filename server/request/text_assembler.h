// Token ids to the text of the answer, as they come.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/tokenizer.h"
#include "server/request/stop_matcher.h"

namespace affine {

struct StopRules {
  std::span<const std::string> strings;
  bool include = false;    // the text ends after the stop string, not before it
  int32_t min_tokens = 0;  // a string that one of the first so many tokens completes passes
};

/// The pieces taken concatenate to Tokenizer::Decode of the tokens, cut at the first stop string,
/// byte for byte. Each piece is whole characters.
class TextAssembler {
 public:
  /// `tokenizer` outlives the assembler.
  TextAssembler(const Tokenizer& tokenizer, const StopRules& stops, bool skip_special_tokens);
  /// Takes the next token. True if it completed a stop string: the text has ended then, and what
  /// comes after is ignored.
  bool Add(int32_t token);
  /// No more tokens come: the start of a character that was never finished becomes U+FFFD, and
  /// what might have begun a stop string is settled. True if that completed a stop string.
  bool Finish();
  /// The text that was settled since the last call.
  std::string Take();

 private:
  const Tokenizer& tokenizer_;
  const bool skip_special_tokens_;
  const bool include_stop_;
  int32_t passing_;  // tokens that can't complete a stop string yet
  StopMatcher stops_;
  std::string unfinished_;  // 0 to 3 bytes: the start of a character
  std::string settled_;
  bool ended_ = false;
};

}  // namespace affine
