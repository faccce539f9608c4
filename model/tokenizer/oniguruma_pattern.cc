#include "model/tokenizer/oniguruma_pattern.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <vector>

namespace affine {
namespace {

// White_Space and its complement. PCRE2's own \s also takes U+180E.
constexpr char kSpace[] =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr char kNotSpace[] =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
// PCRE2's own \w lacks marks and connectors other than the underscore.
constexpr char kWord[] = R"(\p{L}\p{M}\p{N}\p{Pc})";

constexpr std::array<std::string_view, 38> kGeneralCategories = {
    "C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",
    "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf", "Pi",
    "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs", "Any"};

class OnigurumaTranslator {
 public:
  explicit OnigurumaTranslator(std::string_view pattern) : pattern_(pattern) {}

  std::string Run() {
    if (pattern_.size() > kMaxPattern) Refuse("a pattern of more than 65536 bytes");
    if (Skip("(?i)")) {
      caseless_.push_back(true);
      out_ += "(?i)";
    } else {
      caseless_.push_back(false);
    }
    while (at_ < pattern_.size()) Step();
    return out_;
  }

 private:
  static constexpr size_t kMaxPattern = 65536;

  [[noreturn]] static void Refuse(const std::string& what) {
    throw std::invalid_argument(what + " is not supported in a pattern");
  }
  bool Skip(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }

  void Step();
  void Group();
  void Interval();
  void Class();
  /// Translates the escape at at_; true if it stands for a set of characters.
  bool Escape(bool in_class);
  void Hexadecimal(bool in_class);
  void Property(bool negated);
  void Set(const std::string& members, const std::string& others, bool negated, bool in_class);
  void Literal(char c);

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  std::vector<bool> caseless_;  // one for each open group
  char last_caseless_ = '\0';   // the literal just before, in a caseless group
};

void OnigurumaTranslator::Step() {
  const char c = pattern_[at_];
  if (c != '\\' && std::string_view("[(){*+?.^$|").find(c) == std::string_view::npos) {
    ++at_;
    return Literal(c);
  }
  last_caseless_ = '\0';
  switch (c) {
    case '\\':
      Escape(false);
      return;
    case '[':
      return Class();
    case '(':
      return Group();
    case '{':
      return Interval();
    case ')':
      if (caseless_.size() > 1) caseless_.pop_back();
      [[fallthrough]];
    default:
      out_ += c;
      ++at_;
  }
}

void OnigurumaTranslator::Literal(char c) {
  if (caseless_.back()) {
    // Oniguruma folds 'ss' to U+00DF and so on, PCRE2 folds one character to one.
    static constexpr std::array<std::string_view, 5> kMultiple = {"ss", "st", "ff", "fi", "fl"};
    if (static_cast<unsigned char>(c) >= 0x80) Refuse("(?i) over characters beyond ASCII");
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const char pair[] = {last_caseless_, lower};
    if (std::find(kMultiple.begin(), kMultiple.end(), std::string_view(pair, 2)) !=
        kMultiple.end()) {
      Refuse("(?i) over '" + std::string(pair, 2) + "', which has a ligature,");
    }
    last_caseless_ = lower;
  }
  out_ += c;
}

void OnigurumaTranslator::Group() {
  static constexpr std::array<std::string_view, 7> kSame = {"(?:",  "(?=",  "(?!",  "(?>",
                                                            "(?<=", "(?<!", "(?-i:"};
  for (const std::string_view opening : kSame) {
    if (!Skip(opening)) continue;
    caseless_.push_back(opening != "(?-i:" && caseless_.back());
    out_ += opening;
    return;
  }
  if (Skip("(?i:")) {
    caseless_.push_back(true);
    out_ += "(?i:";
    return;
  }
  if (Peek(1) == '?' || Peek(1) == '*') {
    Refuse("the group '" + std::string(pattern_.substr(at_, 4)) + "'");
  }
  caseless_.push_back(caseless_.back());
  out_ += '(';
  ++at_;
}

void OnigurumaTranslator::Interval() {
  const size_t end = pattern_.find('}', at_);
  const std::string_view body =
      end == std::string_view::npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
  const bool digits_first = !body.empty() && std::isdigit(static_cast<unsigned char>(body[0]));
  const bool only_digits = body.find_first_not_of("0123456789,") == std::string_view::npos &&
                           std::count(body.begin(), body.end(), ',') <= 1;
  if (!digits_first || !only_digits) Refuse("an unescaped '{' other than {n}, {n,} and {n,m}");
  out_ += pattern_.substr(at_, end + 1 - at_);
  at_ = end + 1;
  // Ruby reads {n}+ as a repetition of the repetition, PCRE2 as possessive.
  if (Peek() == '+' || Peek() == '?') Refuse("a '+' or '?' behind {n,m}");
}

void OnigurumaTranslator::Class() {
  out_ += '[';
  ++at_;
  const bool negated = Skip("^");
  if (negated) out_ += '^';
  if (negated && caseless_.back()) Refuse("(?i) over a negated character class");
  if (Peek() == ']') Refuse("a ']' at the start of a character class");
  while (at_ < pattern_.size() && pattern_[at_] != ']') {
    const char c = pattern_[at_];
    if (c == '[') Refuse("a '[' within a character class");
    if (c == '&' && Peek(1) == '&') Refuse("'&&' within a character class");
    if (caseless_.back() && (static_cast<unsigned char>(c) >= 0x80 || c == '\\')) {
      Refuse("(?i) over a character class that goes beyond ASCII");
    }
    if (c == '\\') {
      const bool set = Escape(true);
      if (set && Peek() == '-' && Peek(1) != ']') Refuse("a range that starts with a set");
      continue;
    }
    if (c == '-' && Peek(1) == '\\' &&
        std::string_view("sSdDwWpP").find(Peek(2)) != std::string_view::npos) {
      Refuse("a range that ends with a set");
    }
    out_ += c;
    ++at_;
  }
  if (Peek() == ']') {
    out_ += ']';
    ++at_;
  }
}

void OnigurumaTranslator::Set(const std::string& members, const std::string& others, bool negated,
                              bool in_class) {
  if (!in_class) {
    out_ += (negated ? "[^" : "[") + members + "]";
  } else if (!negated) {
    out_ += members;
  } else if (!others.empty()) {
    out_ += others;
  } else {
    Refuse("\\W within a character class");
  }
}

bool OnigurumaTranslator::Escape(bool in_class) {
  const char c = Peek(1);
  const auto letter = static_cast<unsigned char>(c);
  if (c == 'x' || c == 'u') {
    Hexadecimal(in_class);
    return false;
  }
  at_ += 2;
  if (c == 's' || c == 'S') {
    Set(kSpace, kNotSpace, c == 'S', in_class);
  } else if (c == 'd' || c == 'D') {
    out_ += c == 'd' ? "\\p{Nd}" : "\\P{Nd}";
  } else if (c == 'w' || c == 'W') {
    Set(kWord, "", c == 'W', in_class);
  } else if (c == 'p' || c == 'P') {
    if (caseless_.back()) Refuse("(?i) over \\p");
    Property(c == 'P');
  } else {
    if (c == 'v') {  // a vertical tab in Ruby, any vertical space in PCRE2
      out_ += "\\x{b}";
    } else if (std::string_view("rntfae").find(c) != std::string_view::npos && c != '\0') {
      out_ += std::string("\\") + c;
    } else if (!in_class && (c == 'A' || c == 'z' || c == 'Z')) {
      out_ += std::string("\\") + c;
    } else if (std::ispunct(letter) || c == ' ') {
      out_ += std::string("\\") + c;
    } else {
      at_ -= 2;
      Refuse("the escape '" + std::string(pattern_.substr(at_, 2)) + "'");
    }
    return false;
  }
  return true;
}

void OnigurumaTranslator::Hexadecimal(bool in_class) {
  const char kind = Peek(1);
  const bool braces = kind == 'x' && Peek(2) == '{';
  const size_t begin = at_ + (braces ? 3 : 2);
  const size_t end = braces ? std::min(pattern_.find('}', begin), pattern_.size())
                            : std::min(begin + (kind == 'x' ? 2 : 4), pattern_.size());
  const std::string digits(pattern_.substr(begin, end - begin));
  const bool complete = braces ? end < pattern_.size() : kind == 'x' || digits.size() == 4;
  const bool valid = complete && !digits.empty() && digits.size() <= 8 &&
                     std::all_of(digits.begin(), digits.end(),
                                 [](unsigned char c) { return std::isxdigit(c) != 0; });
  // Without braces \xHH is a byte of the text for Oniguruma, a code point for PCRE2.
  const bool same = braces || kind == 'u' || (valid && std::stoul(digits, nullptr, 16) < 0x80);
  if (!valid || !same || caseless_.back()) {
    Refuse("the escape '" + std::string(pattern_.substr(at_, end - at_)) + "'");
  }
  out_ += "\\x{" + digits + "}";
  at_ = end + (braces ? 1 : 0);
}

void OnigurumaTranslator::Property(bool negated) {
  const size_t end = pattern_.find('}', at_);
  if (Peek() != '{' || end == std::string_view::npos) Refuse("\\p without a name in braces");
  std::string name(pattern_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  if (name.starts_with('^')) {
    negated = !negated;
    name.erase(0, 1);
  }
  const bool category = std::find(kGeneralCategories.begin(), kGeneralCategories.end(), name) !=
                        kGeneralCategories.end();
  const bool letters = std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return std::isalpha(c) || c == '_'; });
  if (!category && (name.size() < 3 || !letters)) Refuse("the property '" + name + "'");
  // A bare script name is a list of script extensions in PCRE2. It refuses names it does not know.
  out_ += std::string(negated ? "\\P{" : "\\p{") + (category ? "" : "sc:") + name + "}";
}

}  // namespace

std::string TranslateOnigurumaPattern(std::string_view pattern) {
  return OnigurumaTranslator(pattern).Run();
}

}  // namespace affine
