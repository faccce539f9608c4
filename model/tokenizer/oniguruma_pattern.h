// The regular expressions of tokenizer.json are written for Oniguruma; ours run on PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace affine {

/// Rewrites `pattern` from Oniguruma's Ruby syntax to a PCRE2 pattern (UTF, UCP, MULTILINE, newline
/// LF) that matches the same texts. Where the two read a spelling differently, it is spelled out
/// (\s, \d, \w, \v, \uHHHH, scripts) or refused. Throws std::invalid_argument, naming the
/// construct, for what is not translated: back references, named groups, conditionals, nested
/// character classes and their intersections, other escapes, case folding of more than ASCII.
/// Broken syntax is left to PCRE2's compiler.
std::string TranslateOnigurumaPattern(std::string_view pattern);

}  // namespace affine
