#include "model/jinja/statement_parser.h"

#include <algorithm>
#include <utility>

namespace affine::jinja {
namespace {

using Kind = Statement::Kind;

Statement Make(Kind kind, int line) {
  Statement statement;
  statement.kind = kind;
  statement.line = line;
  return statement;
}

}  // namespace

Block StatementParser::ParseTemplate() { return ParseUntil({}); }

bool StatementParser::AtTagOf(const Words& words) const {
  if (!tokens_.Sees(Token::Kind::kStatementBegin)) return false;
  const Token& next = tokens_.next();
  return next.kind == Token::Kind::kName &&
         std::find(words.begin(), words.end(), next.text) != words.end();
}

void StatementParser::SkipTag(std::string_view word) {
  tokens_.Require(Token::Kind::kStatementBegin, "{%");
  if (!tokens_.SkipName(word)) tokens_.Fail("expected '" + std::string(word) + "'");
  EndTag();
}

Block StatementParser::ParseUntil(const Words& ends) {
  const ParseDepth depth(depth_, tokens_.line());
  Block block;
  while (!AtTagOf(ends)) {
    const int line = tokens_.line();
    if (tokens_.Sees(Token::Kind::kEnd)) {
      if (ends.empty()) return block;
      tokens_.Fail("expected '" + std::string(ends.back()) + "'");
    }
    if (tokens_.Sees(Token::Kind::kText)) {
      block.push_back(Make(Kind::kText, line));
      block.back().text = tokens_.Take().text;
    } else if (tokens_.Sees(Token::Kind::kOutputBegin)) {
      tokens_.Take();
      block.push_back(Make(Kind::kOutput, line));
      block.back().value = expressions_.ParseTuple();
      tokens_.Require(Token::Kind::kOutputEnd, "}}");
    } else {
      block.push_back(ParseTag());
    }
  }
  return block;
}

Statement StatementParser::ParseTag() {
  const int line = tokens_.line();
  tokens_.Require(Token::Kind::kStatementBegin, "{%");
  if (tokens_.SkipName("if")) return ParseIf(line);
  if (tokens_.SkipName("for")) return ParseFor(line);
  if (tokens_.SkipName("set")) return ParseSet(line);
  if (tokens_.SkipName("macro")) return ParseMacro(line);
  if (tokens_.SkipName("filter")) return ParseFilterBlock(line);
  if (tokens_.SkipName("generation")) return ParseGeneration(line);
  const bool breaks = tokens_.SeesName("break");
  if (breaks || tokens_.SeesName("continue")) {
    if (loops_ == 0) tokens_.Fail("expected a statement that may stand outside a loop");
    tokens_.Take();
    EndTag();
    return Make(breaks ? Kind::kBreak : Kind::kContinue, line);
  }
  tokens_.Fail(
      "expected one of the statements if, for, set, macro, filter, generation, break, "
      "continue");
}

// Behind "if" or "elif".
Statement StatementParser::ParseIf(int line) {
  const ParseDepth depth(depth_, line);
  Statement statement = Make(Kind::kIf, line);
  statement.value = expressions_.ParseTuple();
  EndTag();
  statement.body = ParseUntil({"elif", "else", "endif"});
  if (AtTagOf({"elif"})) {
    const int next = tokens_.line();
    tokens_.Take();
    tokens_.Take();
    statement.otherwise.push_back(ParseIf(next));
    return statement;  // the last of the chain has taken endif
  }
  if (AtTagOf({"else"})) {
    SkipTag("else");
    statement.otherwise = ParseUntil({"endif"});
  }
  SkipTag("endif");
  return statement;
}

std::vector<std::string> StatementParser::ParseTargets() {
  std::vector<std::string> targets;
  const bool enclosed = tokens_.SkipOperator("(");
  do {
    if (!targets.empty() && !tokens_.Sees(Token::Kind::kName)) break;
    targets.push_back(tokens_.RequireName());
  } while (tokens_.SkipOperator(","));
  if (enclosed) tokens_.RequireOperator(")");
  return targets;
}

Statement StatementParser::ParseFor(int line) {
  Statement statement = Make(Kind::kFor, line);
  do {
    if (tokens_.SeesName("in")) break;  // behind a comma
    std::vector<std::string> targets = ParseTargets();
    std::move(targets.begin(), targets.end(), std::back_inserter(statement.targets));
  } while (tokens_.SkipOperator(","));
  if (!tokens_.SkipName("in")) tokens_.Fail("expected 'in'");
  statement.value = expressions_.ParseIterable();
  if (tokens_.SkipName("if")) statement.condition = expressions_.Parse();
  if (tokens_.SeesName("recursive")) tokens_.Fail("recursive loops are not supported");
  EndTag();
  ++loops_;
  ++scopes_;
  statement.body = ParseUntil({"else", "endfor"});
  --loops_;
  if (AtTagOf({"else"})) {
    SkipTag("else");
    statement.otherwise = ParseUntil({"endfor"});
  }
  --scopes_;
  SkipTag("endfor");
  return statement;
}

Statement StatementParser::ParseSet(int line) {
  Statement statement = Make(Kind::kSet, line);
  const Token& next = tokens_.next();
  if (next.kind == Token::Kind::kOperator && next.text == ".") {
    statement.name = tokens_.RequireName();
    tokens_.RequireOperator(".");
    statement.member = tokens_.RequireName();
  } else {
    statement.targets = ParseTargets();
  }
  if (tokens_.SkipOperator("=")) {
    statement.value = expressions_.ParseTuple();
    EndTag();
    return statement;
  }
  statement.kind = Kind::kSetBlock;
  if (statement.targets.size() > 1) tokens_.Fail("expected '='");
  while (tokens_.SkipOperator("|")) statement.filters.push_back(expressions_.ParseFilter());
  EndTag();
  statement.body = ParseUntil({"endset"});
  SkipTag("endset");
  return statement;
}

Statement StatementParser::ParseMacro(int line) {
  if (scopes_ > 0) tokens_.Fail("macros inside loops and macros are not supported");
  Statement statement = Make(Kind::kMacro, line);
  statement.name = tokens_.RequireName();
  tokens_.RequireOperator("(");
  while (!tokens_.SkipOperator(")")) {
    if (!statement.targets.empty()) tokens_.RequireOperator(",");
    statement.targets.push_back(tokens_.RequireName());
    if (tokens_.SkipOperator("=")) {
      statement.defaults.push_back(expressions_.Parse());
    } else if (!statement.defaults.empty()) {
      tokens_.Fail("expected a default, since the parameter before has one");
    }
  }
  EndTag();
  const int loops = std::exchange(loops_, 0);
  ++scopes_;
  statement.body = ParseUntil({"endmacro"});
  --scopes_;
  loops_ = loops;
  SkipTag("endmacro");
  return statement;
}

Statement StatementParser::ParseFilterBlock(int line) {
  Statement statement = Make(Kind::kFilterBlock, line);
  do {
    statement.filters.push_back(expressions_.ParseFilter());
  } while (tokens_.SkipOperator("|"));
  EndTag();
  ++scopes_;
  statement.body = ParseUntil({"endfilter"});
  --scopes_;
  SkipTag("endfilter");
  return statement;
}

Statement StatementParser::ParseGeneration(int line) {
  Statement statement = Make(Kind::kScope, line);
  EndTag();
  ++scopes_;
  statement.body = ParseUntil({"endgeneration"});
  --scopes_;
  SkipTag("endgeneration");
  return statement;
}

}  // namespace affine::jinja
