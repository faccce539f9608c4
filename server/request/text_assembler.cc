#include "server/request/text_assembler.h"

#include <string_view>
#include <utility>

#include "model/utf8.h"

namespace affine {

TextAssembler::TextAssembler(const Tokenizer& tokenizer, const StopRules& stops,
                             bool skip_special_tokens)
    : tokenizer_(tokenizer),
      skip_special_tokens_(skip_special_tokens),
      include_stop_(stops.include),
      passing_(stops.min_tokens),
      stops_(stops.strings) {}

bool TextAssembler::Add(int32_t token) {
  const bool may_stop = passing_ == 0;
  if (!may_stop) --passing_;
  if (ended_ || (skip_special_tokens_ && tokenizer_.IsSpecial(token))) return false;
  unfinished_ += tokenizer_.TokenBytes(token);
  const std::string_view bytes = unfinished_;
  const size_t whole = bytes.size() - IncompleteUtf8Suffix(bytes);
  ended_ =
      stops_.Feed(ReplaceInvalidUtf8(bytes.substr(0, whole)), settled_, may_stop, include_stop_);
  unfinished_.erase(0, whole);
  return ended_;
}

bool TextAssembler::Finish() {
  if (ended_) return false;
  ended_ = true;
  const bool may_stop = passing_ == 0;
  if (stops_.Feed(ReplaceInvalidUtf8(unfinished_), settled_, may_stop, include_stop_)) return true;
  stops_.Flush(settled_);
  return false;
}

std::string TextAssembler::Take() { return std::exchange(settled_, std::string()); }

}  // namespace affine
