// A compiled regular expression in the dialect of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace affine {

/// What one thread needs while it matches; any Regex can use it.
class RegexScratch {
 public:
  RegexScratch();

 private:
  friend class Regex;
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
};

class Regex {
 public:
  struct Match {
    size_t begin;
    size_t end;
  };

  /// Compiles a pattern as Oniguruma's Ruby syntax understands it. Throws std::invalid_argument for
  /// a pattern that is broken or uses what OnigurumaPattern does not translate.
  explicit Regex(std::string_view pattern);

  /// Finds the first match in `text` (valid UTF-8) that starts at or after `from`. Lookbehind sees
  /// the text before `from`. Throws ModelError if PCRE2 gives up, which takes a pattern that
  /// backtracks more than about linearly. Safe from several threads, one scratch each.
  bool Find(std::string_view text, size_t from, RegexScratch* scratch, Match* match) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string pattern_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace affine
