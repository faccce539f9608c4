#include "model/jinja/expression_parser.h"

#include <algorithm>
#include <utility>

#include "model/jinja/filters.h"
#include "model/jinja/value_tests.h"

namespace affine::jinja {
namespace {

using Kind = Expression::Kind;

std::optional<Value> ConstantNamed(std::string_view name) {
  if (name == "true" || name == "True") return Value(true);
  if (name == "false" || name == "False") return Value(false);
  if (name == "none" || name == "None") return Value();
  return std::nullopt;
}

}  // namespace

ExpressionPtr ExpressionParser::Make(Kind kind, int line) {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = line;
  return expression;
}

// Sets the depth of a node whose parts are there. Chains such as a + b + c nest without the
// parser's own recursion, so the tree's depth is limited too.
ExpressionPtr ExpressionParser::Finished(ExpressionPtr expression) {
  for (const auto& part : expression->parts) {
    if (part) expression->depth = std::max(expression->depth, part->depth + 1);
  }
  for (const auto& [name, part] : expression->named) {
    expression->depth = std::max(expression->depth, part->depth + 1);
  }
  if (expression->depth > kMaxTemplateDepth) {
    throw TemplateError("an expression is nested deeper than " + std::to_string(kMaxTemplateDepth),
                        expression->line);
  }
  return expression;
}

ExpressionPtr ExpressionParser::Binary(Operator op, int line, ExpressionPtr left,
                                       ExpressionPtr right) {
  auto expression = Make(Kind::kBinary, line);
  expression->operators = {op};
  expression->parts.push_back(std::move(left));
  expression->parts.push_back(std::move(right));
  return Finished(std::move(expression));
}

ExpressionPtr ExpressionParser::Parse() {
  const ParseDepth depth(depth_, tokens_.line());
  const int line = tokens_.line();
  ExpressionPtr result = ParseOr();
  while (tokens_.SkipName("if")) {
    auto condition = Make(Kind::kCondition, line);
    condition->parts.push_back(std::move(result));
    condition->parts.push_back(ParseOr());
    condition->parts.push_back(tokens_.SkipName("else") ? Parse() : nullptr);
    result = Finished(std::move(condition));
  }
  return result;
}

ExpressionPtr ExpressionParser::ParseTuple() { return ParseTupleOf(true); }
ExpressionPtr ExpressionParser::ParseIterable() { return ParseTupleOf(false); }

ExpressionPtr ExpressionParser::ParseTupleOf(bool with_condition) {
  const int line = tokens_.line();
  ExpressionPtr first = with_condition ? Parse() : ParseOr();
  if (!tokens_.SeesOperator(",")) return first;
  auto tuple = Make(Kind::kTuple, line);
  tuple->parts.push_back(std::move(first));
  while (tokens_.SkipOperator(",")) {
    const bool ends = tokens_.Sees(Token::Kind::kOutputEnd) ||
                      tokens_.Sees(Token::Kind::kStatementEnd) || tokens_.SeesOperator(")");
    if (ends) break;
    tuple->parts.push_back(with_condition ? Parse() : ParseOr());
  }
  return Finished(std::move(tuple));
}

ExpressionPtr ExpressionParser::ParseOr() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseAnd();
  while (tokens_.SkipName("or")) left = Binary(Operator::kOr, line, std::move(left), ParseAnd());
  return left;
}

ExpressionPtr ExpressionParser::ParseAnd() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseNot();
  while (tokens_.SkipName("and")) left = Binary(Operator::kAnd, line, std::move(left), ParseNot());
  return left;
}

ExpressionPtr ExpressionParser::ParseNot() {
  const ParseDepth depth(depth_, tokens_.line());
  const int line = tokens_.line();
  if (!tokens_.SkipName("not")) return ParseComparison();
  auto expression = Make(Kind::kUnary, line);
  expression->operators = {Operator::kNot};
  expression->parts.push_back(ParseNot());
  return Finished(std::move(expression));
}

std::optional<Operator> ExpressionParser::TakeComparison() {
  constexpr std::pair<std::string_view, Operator> kComparisons[] = {
      {"==", Operator::kEqual},     {"!=", Operator::kNotEqual}, {"<", Operator::kLess},
      {"<=", Operator::kLessEqual}, {">", Operator::kGreater},   {">=", Operator::kGreaterEqual}};
  for (const auto& [text, op] : kComparisons) {
    if (tokens_.SkipOperator(text)) return op;
  }
  if (tokens_.SkipName("in")) return Operator::kIn;
  const Token& next = tokens_.next();
  if (tokens_.SeesName("not") && next.kind == Token::Kind::kName && next.text == "in") {
    tokens_.Take();
    tokens_.Take();
    return Operator::kNotIn;
  }
  return std::nullopt;
}

ExpressionPtr ExpressionParser::ParseComparison() {
  auto comparison = Make(Kind::kCompare, tokens_.line());
  comparison->parts.push_back(ParseSum());
  while (const auto op = TakeComparison()) {
    comparison->operators.push_back(*op);
    comparison->parts.push_back(ParseSum());
  }
  if (comparison->operators.empty()) return std::move(comparison->parts.front());
  return Finished(std::move(comparison));
}

ExpressionPtr ExpressionParser::ParseSum() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseConcat();
  while (true) {
    if (tokens_.SkipOperator("+")) {
      left = Binary(Operator::kAdd, line, std::move(left), ParseConcat());
    } else if (tokens_.SkipOperator("-")) {
      left = Binary(Operator::kSubtract, line, std::move(left), ParseConcat());
    } else {
      return left;
    }
  }
}

ExpressionPtr ExpressionParser::ParseConcat() {
  auto concat = Make(Kind::kConcat, tokens_.line());
  concat->parts.push_back(ParseProduct());
  while (tokens_.SkipOperator("~")) concat->parts.push_back(ParseProduct());
  if (concat->parts.size() == 1) return std::move(concat->parts.front());
  return Finished(std::move(concat));
}

ExpressionPtr ExpressionParser::ParseProduct() {
  constexpr std::pair<std::string_view, Operator> kOperators[] = {{"*", Operator::kMultiply},
                                                                  {"/", Operator::kDivide},
                                                                  {"//", Operator::kFloorDivide},
                                                                  {"%", Operator::kModulo}};
  const int line = tokens_.line();
  ExpressionPtr left = ParsePower();
  while (true) {
    const auto* found =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [&](const auto& op) { return tokens_.SkipOperator(op.first); });
    if (found == std::end(kOperators)) return left;
    left = Binary(found->second, line, std::move(left), ParsePower());
  }
}

ExpressionPtr ExpressionParser::ParsePower() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseUnary(true);
  while (tokens_.SkipOperator("**")) {
    left = Binary(Operator::kPower, line, std::move(left), ParseUnary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseUnary(bool with_filters) {
  const ParseDepth depth(depth_, tokens_.line());
  const int line = tokens_.line();
  const bool negative = tokens_.SeesOperator("-");
  ExpressionPtr result;
  if (negative || tokens_.SeesOperator("+")) {
    tokens_.Take();
    result = Make(Kind::kUnary, line);
    result->operators = {negative ? Operator::kNegative : Operator::kPositive};
    result->parts.push_back(ParseUnary(false));
    result = Finished(std::move(result));
  } else {
    result = ParsePrimary();
  }
  result = ParsePostfix(std::move(result));
  return with_filters ? ParseFiltersAndTests(std::move(result)) : std::move(result);
}

ExpressionPtr ExpressionParser::ParsePrimary() {
  const int line = tokens_.line();
  if (tokens_.Sees(Token::Kind::kName)) return ParseName();
  if (tokens_.SeesOperator("(")) return ParseParentheses();
  if (tokens_.SeesOperator("[")) return ParseList();
  if (tokens_.SeesOperator("{")) return ParseDict();
  auto literal = Make(Kind::kLiteral, line);
  if (tokens_.Sees(Token::Kind::kString)) {
    std::string text;
    while (tokens_.Sees(Token::Kind::kString)) text += tokens_.Take().text;
    literal->value = Value(std::move(text));
  } else if (tokens_.Sees(Token::Kind::kInteger)) {
    literal->value = tokens_.Take().integer;
  } else if (tokens_.Sees(Token::Kind::kFloat)) {
    literal->value = tokens_.Take().number;
  } else {
    tokens_.Fail("expected an expression");
  }
  return literal;
}

ExpressionPtr ExpressionParser::ParseName() {
  auto expression = Make(Kind::kName, tokens_.line());
  expression->name = tokens_.Take().text;
  if (auto constant = ConstantNamed(expression->name)) {
    expression->kind = Kind::kLiteral;
    expression->value = std::move(*constant);
  }
  return expression;
}

ExpressionPtr ExpressionParser::ParseParentheses() {
  const int line = tokens_.line();
  tokens_.RequireOperator("(");
  if (tokens_.SkipOperator(")")) return Make(Kind::kTuple, line);
  ExpressionPtr inside = ParseTuple();
  tokens_.RequireOperator(")");
  return inside;
}

ExpressionPtr ExpressionParser::ParseList() {
  auto list = Make(Kind::kList, tokens_.line());
  tokens_.RequireOperator("[");
  while (!tokens_.SkipOperator("]")) {
    if (!list->parts.empty()) tokens_.RequireOperator(",");
    if (tokens_.SkipOperator("]")) break;
    list->parts.push_back(Parse());
  }
  return Finished(std::move(list));
}

ExpressionPtr ExpressionParser::ParseDict() {
  auto dict = Make(Kind::kDict, tokens_.line());
  tokens_.RequireOperator("{");
  while (!tokens_.SkipOperator("}")) {
    if (!dict->parts.empty()) tokens_.RequireOperator(",");
    if (tokens_.SkipOperator("}")) break;
    dict->parts.push_back(Parse());
    tokens_.RequireOperator(":");
    dict->parts.push_back(Parse());
  }
  return Finished(std::move(dict));
}

ExpressionPtr ExpressionParser::ParsePostfix(ExpressionPtr subject) {
  while (true) {
    if (tokens_.SeesOperator(".")) {
      subject = ParseAttribute(std::move(subject));
    } else if (tokens_.SeesOperator("[")) {
      subject = ParseSubscript(std::move(subject));
    } else if (tokens_.SeesOperator("(")) {
      auto call = Make(Kind::kCall, tokens_.line());
      call->parts.push_back(std::move(subject));
      ParseArguments(*call);
      subject = Finished(std::move(call));
    } else {
      return subject;
    }
  }
}

ExpressionPtr ExpressionParser::ParseFiltersAndTests(ExpressionPtr subject) {
  while (true) {
    if (tokens_.SkipOperator("|")) {
      ExpressionPtr filter = ParseFilter();
      filter->parts.front() = std::move(subject);
      subject = ParsePostfix(Finished(std::move(filter)));
    } else if (tokens_.SkipName("is")) {
      subject = ParseTest(std::move(subject));
    } else {
      return subject;
    }
  }
}

ExpressionPtr ExpressionParser::ParseFilter() {
  auto filter = Make(Kind::kFilter, tokens_.line());
  filter->name = tokens_.RequireName();
  if (!IsFilter(filter->name)) {
    throw TemplateError("there is no filter '" + filter->name + "' here", filter->line);
  }
  filter->parts.push_back(nullptr);
  if (tokens_.SeesOperator("(")) ParseArguments(*filter);
  return Finished(std::move(filter));
}

ExpressionPtr ExpressionParser::ParseAttribute(ExpressionPtr object) {
  auto expression = Make(Kind::kAttribute, tokens_.line());
  expression->parts.push_back(std::move(object));
  tokens_.RequireOperator(".");
  if (tokens_.Sees(Token::Kind::kInteger)) {
    expression->kind = Kind::kItem;
    expression->parts.push_back(Make(Kind::kLiteral, tokens_.line()));
    expression->parts.back()->value = tokens_.Take().integer;
  } else {
    expression->name = tokens_.RequireName();
  }
  return Finished(std::move(expression));
}

ExpressionPtr ExpressionParser::ParseSubscript(ExpressionPtr object) {
  auto expression = Make(Kind::kItem, tokens_.line());
  expression->parts.push_back(std::move(object));
  tokens_.RequireOperator("[");
  const auto at_border = [this] { return tokens_.SeesOperator(":") || tokens_.SeesOperator("]"); };
  expression->parts.push_back(tokens_.SeesOperator(":") ? nullptr : Parse());
  if (tokens_.SeesOperator(":")) {
    expression->kind = Kind::kSlice;
    for (int i = 0; i < 2; ++i) {
      const bool given = tokens_.SkipOperator(":") && !at_border();
      expression->parts.push_back(given ? Parse() : nullptr);
    }
  }
  tokens_.RequireOperator("]");
  return Finished(std::move(expression));
}

ExpressionPtr ExpressionParser::ParseTest(ExpressionPtr subject) {
  const int line = tokens_.line();
  const bool negated = tokens_.SkipName("not");
  auto test = Make(Kind::kTest, line);
  test->name = tokens_.RequireName();
  if (!IsValueTest(test->name)) {
    throw TemplateError("there is no test '" + test->name + "' here", line);
  }
  test->parts.push_back(std::move(subject));
  const bool keyword = tokens_.SeesName("else") || tokens_.SeesName("or") ||
                       tokens_.SeesName("and") || tokens_.SeesName("if") || tokens_.SeesName("is");
  if (tokens_.SeesOperator("(")) {
    ParseArguments(*test);
  } else if (!keyword &&
             (tokens_.Sees(Token::Kind::kName) || tokens_.Sees(Token::Kind::kString) ||
              tokens_.Sees(Token::Kind::kInteger) || tokens_.Sees(Token::Kind::kFloat) ||
              tokens_.SeesOperator("[") || tokens_.SeesOperator("{"))) {
    test->parts.push_back(ParsePostfix(ParsePrimary()));
  }
  ExpressionPtr result = Finished(std::move(test));
  if (!negated) return result;
  auto expression = Make(Kind::kUnary, line);
  expression->operators = {Operator::kNot};
  expression->parts.push_back(std::move(result));
  return Finished(std::move(expression));
}

void ExpressionParser::ParseArguments(Expression& call) {
  tokens_.RequireOperator("(");
  bool first = true;
  while (!tokens_.SkipOperator(")")) {
    if (!std::exchange(first, false)) tokens_.RequireOperator(",");
    if (tokens_.SkipOperator(")")) break;
    const Token& next = tokens_.next();
    if (tokens_.SeesOperator("*") || tokens_.SeesOperator("**")) {
      tokens_.Fail("arguments that are unpacked by * or ** are not supported");
    }
    if (tokens_.Sees(Token::Kind::kName) && next.kind == Token::Kind::kOperator &&
        next.text == "=") {
      std::string name = tokens_.Take().text;
      tokens_.Take();
      call.named.emplace_back(std::move(name), Parse());
    } else {
      if (!call.named.empty()) tokens_.Fail("expected an argument with a name");
      call.parts.push_back(Parse());
    }
  }
}

}  // namespace affine::jinja
