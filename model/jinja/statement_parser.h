// Tokens to the tree of a template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/jinja/expression_parser.h"
#include "model/jinja/syntax_tree.h"
#include "model/jinja/token_stream.h"

namespace affine::jinja {

/// Throws TemplateError, with the line, for what is no template and for statements that are not
/// there. One template.
class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Block ParseTemplate();

 private:
  using Words = std::vector<std::string_view>;

  /// Statements up to a tag that begins with one of `ends`, which is then current.
  Block ParseUntil(const Words& ends);
  bool AtTagOf(const Words& words) const;
  void SkipTag(std::string_view word);
  void EndTag() { tokens_.Require(Token::Kind::kStatementEnd, "%}"); }
  Statement ParseTag();
  Statement ParseIf(int line);
  Statement ParseFor(int line);
  Statement ParseSet(int line);
  Statement ParseMacro(int line);
  Statement ParseFilterBlock(int line);
  Statement ParseGeneration(int line);
  std::vector<std::string> ParseTargets();

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;   // of statements
  int loops_ = 0;   // for loops around, within this macro
  int scopes_ = 0;  // statements around whose names are their own
};

}  // namespace affine::jinja
