// Tokens to the tree of an expression.
#pragma once

#include <optional>
#include <string>

#include "model/jinja/syntax_tree.h"
#include "model/jinja/token_stream.h"

namespace affine::jinja {

/// Throws TemplateError for what is no expression, and for names of filters and tests that are not
/// there. One template.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// One expression.
  ExpressionPtr Parse();
  /// Several with commas between them are a tuple.
  ExpressionPtr ParseTuple();
  /// What a for loop runs over: no condition, since `if` begins the loop's own.
  ExpressionPtr ParseIterable();
  /// `name` or `name(arguments)`, as behind the bar; its subject is left out.
  ExpressionPtr ParseFilter();

 private:
  ExpressionPtr Make(Expression::Kind kind, int line);
  ExpressionPtr Finished(ExpressionPtr expression);
  ExpressionPtr ParseTupleOf(bool with_condition);
  ExpressionPtr ParseOr();
  ExpressionPtr ParseAnd();
  ExpressionPtr ParseNot();
  ExpressionPtr ParseComparison();
  std::optional<Operator> TakeComparison();
  ExpressionPtr ParseSum();
  ExpressionPtr ParseConcat();
  ExpressionPtr ParseProduct();
  ExpressionPtr ParsePower();
  ExpressionPtr ParseUnary(bool with_filters);
  ExpressionPtr ParsePrimary();
  ExpressionPtr ParseName();
  ExpressionPtr ParseParentheses();
  ExpressionPtr ParseList();
  ExpressionPtr ParseDict();
  ExpressionPtr ParsePostfix(ExpressionPtr subject);
  ExpressionPtr ParseFiltersAndTests(ExpressionPtr subject);
  ExpressionPtr ParseAttribute(ExpressionPtr object);
  ExpressionPtr ParseSubscript(ExpressionPtr object);
  ExpressionPtr ParseTest(ExpressionPtr subject);
  void ParseArguments(Expression& call);
  ExpressionPtr Binary(Operator op, int line, ExpressionPtr left, ExpressionPtr right);

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace affine::jinja
