#include "model/jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "model/jinja/string_literal.h"
#include "model/jinja/template_error.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string WithPlainNewlines(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) ReadText();
    Add(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view Rest() const { return source_.substr(at_); }
  bool Sees(std::string_view text) const { return Rest().starts_with(text); }

  Token& Add(Token::Kind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), line_});
    return tokens_.back();
  }

  void Advance(size_t bytes) {
    const std::string_view passed = source_.substr(at_, bytes);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += bytes;
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
  }

  void SkipSpace() { Advance(Rest().size() - StripLeft(Rest()).size()); }

  // Text up to the next tag, then the tag.
  void ReadText() {
    size_t tag = at_;
    do {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 == source_.size()) {
        tag = source_.size();
        break;
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    } while (true);
    const std::string_view text = source_.substr(at_, tag - at_);
    const std::string_view kept = tag == source_.size() ? text : BeforeTag(text, tag);
    if (!kept.empty()) Add(Token::Kind::kText, kept);
    Advance(text.size());
    if (at_ < source_.size()) ReadTag();
  }

  // What is left of `text`, which ends at the tag that begins at `tag`.
  std::string_view BeforeTag(std::string_view text, size_t tag) const {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') return StripRight(text);
    if (sign == '+' || source_[tag + 1] == '{') return text;
    const size_t line = text.rfind('\n') + 1;  // 0 if there is none
    if (line == 0 && !line_starting_) return text;
    return Strip(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  void ReadTag() {
    const char kind = source_[at_ + 1];
    Advance(2);
    if (Sees("-") || Sees("+")) Advance(1);
    if (kind == '#') return SkipComment();
    if (kind == '{') {
      Add(Token::Kind::kOutputBegin, "{{");
      return ReadCode("}}", Token::Kind::kOutputEnd);
    }
    if (ReadRaw()) return;
    Add(Token::Kind::kStatementBegin, "{%");
    ReadCode("%}", Token::Kind::kStatementEnd);
  }

  void SkipComment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) throw TemplateError("a comment has no end", line_);
    const char sign = end > at_ ? source_[end - 1] : ' ';
    Advance(end - at_);
    CloseTag(sign, true);
  }

  // Past the two characters of a tag's end, and what they take away behind them.
  void CloseTag(char sign, bool trims) {
    Advance(2);
    if (sign == '-') {
      SkipSpace();
    } else if (sign != '+' && trims && Sees("\n")) {
      Advance(1);
    }
  }

  // `word` as all that stands in the tag whose inside begins at `at`: where its end begins, if so.
  std::optional<size_t> OnlyWord(std::string_view word, size_t at) const {
    std::string_view rest = StripLeft(source_.substr(at));
    if (!rest.starts_with(word)) return std::nullopt;
    rest = StripLeft(rest.substr(word.size()));
    if (!rest.starts_with("%}") && !rest.starts_with("-%}") && !rest.starts_with("+%}")) {
      return std::nullopt;
    }
    return source_.size() - rest.size();
  }

  bool ReadRaw() {
    const auto end = OnlyWord("raw", at_);
    if (!end) return false;
    const int line = line_;
    Advance(*end - at_);
    const char sign = source_[at_];
    if (sign != '%') Advance(1);
    CloseTag(sign, false);
    for (size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 2)) {
      const char open = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      const auto close = OnlyWord("endraw", tag + 2 + (open == '-' || open == '+' ? 1 : 0));
      if (!close) continue;
      const std::string_view kept = BeforeTag(source_.substr(at_, tag - at_), tag);
      if (!kept.empty()) Add(Token::Kind::kText, kept);
      Advance(*close - at_);
      const char last = source_[at_];
      if (last != '%') Advance(1);
      CloseTag(last, true);
      return true;
    }
    throw TemplateError("raw has no endraw", line);
  }

  // The inside of a tag, and its end.
  void ReadCode(std::string_view end, Token::Kind end_kind) {
    std::string open;  // brackets
    while (true) {
      SkipSpace();
      if (at_ == source_.size()) throw TemplateError("a tag has no end", line_);
      if (open.empty()) {
        const char sign = source_[at_];
        const bool signed_end =
            (sign == '-' || (sign == '+' && end == "%}")) && Rest().substr(1).starts_with(end);
        if (signed_end || Sees(end)) {
          Add(end_kind, end);
          if (signed_end) Advance(1);
          return CloseTag(signed_end ? sign : ' ', end == "%}");
        }
      }
      ReadToken(open);
    }
  }

  void ReadToken(std::string& open) {
    const char c = source_[at_];
    if (IsNameStart(c)) {
      size_t length = 1;
      while (length < Rest().size() && (IsNameStart(Rest()[length]) || IsDigit(Rest()[length]))) {
        ++length;
      }
      Add(Token::Kind::kName, Rest().substr(0, length));
      return Advance(length);
    }
    if (IsDigit(c)) return ReadNumber();
    if (c == '\'' || c == '"') {
      const StringLiteral literal = ReadStringLiteral(Rest(), line_);
      Add(Token::Kind::kString, literal.value);
      return Advance(literal.length);
    }
    ReadOperator(open);
  }

  void ReadNumber() {
    const bool after_dot = !tokens_.empty() && tokens_.back().kind == Token::Kind::kOperator &&
                           tokens_.back().text == ".";
    size_t length = 0;
    const auto digits = [&] {
      const size_t begin = length;
      while (length < Rest().size() && IsDigit(Rest()[length])) ++length;
      return length > begin;
    };
    digits();
    bool whole = true;
    const auto fraction = [&] {
      const size_t begin = length++;
      if (digits()) return whole = false, void();
      length = begin;
    };
    if (!after_dot && Rest().substr(length).starts_with('.')) fraction();
    if (const std::string_view e = Rest().substr(length);
        !after_dot && e.size() > 1 && (e[0] == 'e' || e[0] == 'E')) {
      const size_t begin = length;
      length += e[1] == '+' || e[1] == '-' ? 2 : 1;
      if (digits()) {
        whole = false;
      } else {
        length = begin;
      }
    }
    Token& token =
        Add(whole ? Token::Kind::kInteger : Token::Kind::kFloat, Rest().substr(0, length));
    const char* first = token.text.data();
    const char* last = first + token.text.size();
    const auto read = whole ? std::from_chars(first, last, token.integer)
                            : std::from_chars(first, last, token.number);
    if (read.ec != std::errc() || read.ptr != last) {
      throw TemplateError("the number " + token.text + " is out of range", line_);
    }
    Advance(length);
    if (!Rest().empty() && IsNameStart(Rest()[0])) {
      throw TemplateError("a number is followed by '" + std::string(Rest().substr(0, 1)) + "'",
                          line_);
    }
  }

  void ReadOperator(std::string& open) {
    constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                               "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                               ">",  "<",  "=",  ".",  ":",  "|",  ","};
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [this](std::string_view text) { return Sees(text); });
    if (found == std::end(kOperators)) {
      const size_t length = FirstCodePoint(Rest()).second;
      throw TemplateError("unexpected '" + std::string(Rest().substr(0, length)) + "'", line_);
    }
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) {
        throw TemplateError("unexpected '" + std::string(1, c) + "'", line_);
      }
      open.pop_back();
    }
    Add(Token::Kind::kOperator, *found);
    Advance(found->size());
  }

  const std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // only tags that took it away stand before this on its line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) {
  const std::string text = WithPlainNewlines(source);
  return Lexer(text).Run();
}

}  // namespace affine::jinja
