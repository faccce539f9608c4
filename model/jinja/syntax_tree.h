// What a template says, as a tree. Immutable once parsed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/jinja/value.h"

namespace affine::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class Operator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kNegative,
  kPositive,
  kNot,
  kAnd,
  kOr,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

/// `parts` by kind, a null pointer where a part is left out.
struct Expression {
  enum class Kind {
    kLiteral,    // value
    kName,       // name
    kList,       // the items
    kTuple,      // the items
    kDict,       // key, value, key, value, ...
    kAttribute,  // the object; name
    kItem,       // the object, the key
    kSlice,      // the object, start, stop, step
    kCall,       // the callee, the arguments
    kFilter,     // the subject (null in a filter block), the arguments; name
    kTest,       // the subject, the arguments; name
    kUnary,      // the operand; operators[0]
    kBinary,     // left, right; operators[0]
    kCompare,    // n + 1 operands; operators: n
    kConcat,     // the pieces
    kCondition,  // then, test, else
  };
  Kind kind;
  int line = 0;
  int depth = 1;  // of the tree from here on
  Value value;
  std::string name;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;  // arguments by name
  std::vector<Operator> operators;
};

struct Statement;
using Block = std::vector<Statement>;

struct Statement {
  enum class Kind {
    kText,         // text
    kOutput,       // value
    kIf,           // value, body, otherwise
    kFor,          // targets, value, condition, body, otherwise
    kSet,          // targets or (name, member), value
    kSetBlock,     // the same, filters, body
    kMacro,        // name, targets with defaults, body
    kFilterBlock,  // filters, body
    kScope,        // body: what `generation` tags enclose
    kBreak,
    kContinue,
  };
  Kind kind;
  int line = 0;
  std::string text;
  std::string name;
  std::string member;  // of the namespace `name`, for kSet; empty: none
  std::vector<std::string> targets;
  std::vector<ExpressionPtr> defaults;  // of the last targets
  ExpressionPtr value;
  ExpressionPtr condition;
  std::vector<ExpressionPtr> filters;  // kFilter without a subject, the first applied first
  Block body;
  Block otherwise;
};

}  // namespace affine::jinja
