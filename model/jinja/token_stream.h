// Tokens as a parser takes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja/lexer.h"
#include "model/jinja/template_error.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

class TokenStream {
 public:
  /// `tokens` end in kEnd.
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + (at_ + 1 < tokens_.size() ? 1 : 0)]; }
  int line() const { return current().line; }
  bool Sees(Token::Kind kind) const { return current().kind == kind; }
  bool SeesOperator(std::string_view text) const {
    return Sees(Token::Kind::kOperator) && current().text == text;
  }
  bool SeesName(std::string_view text) const {
    return Sees(Token::Kind::kName) && current().text == text;
  }
  /// The current token, which is then passed; the end stays.
  Token Take() {
    Token token = current();
    if (token.kind != Token::Kind::kEnd) ++at_;
    return token;
  }
  bool SkipOperator(std::string_view text) { return SeesOperator(text) && (++at_, true); }
  bool SkipName(std::string_view text) { return SeesName(text) && (++at_, true); }
  void RequireOperator(std::string_view text) {
    if (!SkipOperator(text)) Fail("expected '" + std::string(text) + "'");
  }
  std::string RequireName() {
    if (!Sees(Token::Kind::kName)) Fail("expected a name");
    return Take().text;
  }
  void Require(Token::Kind kind, std::string_view text) {
    if (!Sees(kind)) Fail("expected '" + std::string(text) + "'");
    Take();
  }
  /// Throws: what was expected, and what stands here.
  [[noreturn]] void Fail(const std::string& why) const {
    const std::string found = Sees(Token::Kind::kEnd) ? "the end of the template"
                                                      : "'" + current().text.substr(0, 40) + "'";
    throw TemplateError(why + ", but found " + found, line());
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

/// Counts how deep a parser has gone while it lives. Throws beyond kMaxTemplateDepth.
class ParseDepth {
 public:
  ParseDepth(int& depth, int line) : depth_(depth) {
    if (++depth_ > kMaxTemplateDepth) {
      --depth_;
      throw TemplateError("nested deeper than " + std::to_string(kMaxTemplateDepth), line);
    }
  }
  ~ParseDepth() { --depth_; }
  ParseDepth(const ParseDepth&) = delete;
  ParseDepth& operator=(const ParseDepth&) = delete;

 private:
  int& depth_;
};

}  // namespace affine::jinja
