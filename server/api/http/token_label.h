// How a token is shown where tokens are listed one by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/tokenizer.h"

namespace affine {

/// The token's text. A token that is only part of a character is shown as OpenAI's legacy
/// completions do, "bytes:\xe2\x96", so that no two parts look alike; an id without text as
/// "token_id:151936".
std::string TokenLabel(const Tokenizer& tokenizer, int32_t id);

/// Where tokens begin in the text they make up, in characters (code points). A token that begins
/// inside a character stands at that character.
class TextOffset {
 public:
  TextOffset(const Tokenizer& tokenizer, bool skip_special_tokens);
  /// The place of `id`, which comes next.
  int64_t Take(int32_t id);

 private:
  const Tokenizer& tokenizer_;
  const bool skip_special_tokens_;
  int64_t characters_ = 0;  // whole ones so far
  std::string unfinished_;  // 0 to 3 bytes: the start of the next
};

}  // namespace affine
