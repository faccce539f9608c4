#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "model/model_error.h"
#include "model/quoted.h"
#include "model/tokenizer/config_node.h"
#include "model/tokenizer/oniguruma_pattern.h"

namespace affine {
namespace {

/// Backtracking steps that are allowed for a text of `bytes`. The patterns in use take a few steps
/// a byte at worst (a run of spaces is given back one at a time).
uint32_t MatchLimit(size_t bytes) {
  constexpr uint64_t kBase = 10'000'000;
  return static_cast<uint32_t>(std::min<uint64_t>(kBase + 64 * uint64_t{bytes}, UINT32_MAX));
}

std::string ErrorText(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

void RegexScratch::Free::operator()(pcre2_real_match_data_8* data) const {
  pcre2_match_data_free(data);
}
void RegexScratch::Free::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}
void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

RegexScratch::RegexScratch()
    : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
  if (data_ == nullptr || context_ == nullptr) throw std::bad_alloc();
}

Regex::Regex(std::string_view pattern) : pattern_(pattern) {
  const std::string translated = TranslateOnigurumaPattern(pattern);
  struct FreeContext {
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  };
  std::unique_ptr<pcre2_compile_context, FreeContext> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // In Ruby's syntax ^ and $ always mean lines.
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset,
                            context.get()));
  if (code_ == nullptr) throw std::invalid_argument(ErrorText(error));
  // Where the machine forbids generated code this fails, and pcre2_match interprets instead.
  const int compiled = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  if (compiled == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
}

bool Regex::Find(std::string_view text, size_t from, RegexScratch* scratch, Match* match) const {
  pcre2_set_match_limit(scratch->context_.get(), MatchLimit(text.size()));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  uint32_t options = PCRE2_NO_UTF_CHECK;
  int found = pcre2_match(code_.get(), subject, text.size(), from, options, scratch->data_.get(),
                          scratch->context_.get());
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {  // 32 KiB did not do; the interpreter uses the heap
    options |= PCRE2_NO_JIT;
    found = pcre2_match(code_.get(), subject, text.size(), from, options, scratch->data_.get(),
                        scratch->context_.get());
  }
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    throw ModelError("tokenizer.json: the pattern " + Quoted(pattern_) + " fails on a text of " +
                     std::to_string(text.size()) + " bytes: " + ErrorText(found));
  }
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch->data_.get());
  *match = {offsets[0], offsets[1]};
  return true;
}

}  // namespace affine
