// Expressions to values.
#pragma once

#include <ctime>
#include <optional>

#include "model/jinja/arguments.h"
#include "model/jinja/scope.h"
#include "model/jinja/syntax_tree.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

/// Who can run a macro's statements.
class MacroRunner {
 public:
  virtual ~MacroRunner() = default;
  /// What the macro writes.
  virtual Value Run(const Statement& macro, const Arguments& arguments) = 0;
};

/// Of one rendering. Throws TemplateError, and RaisedByTemplate for raise_exception.
class Evaluator {
 public:
  /// Counts what is under way within one another, here and in the macros' statements.
  class Level {
   public:
    explicit Level(Evaluator& evaluator) : levels_(evaluator.levels_) {
      if (++levels_ > kMaxEvaluationDepth) {
        --levels_;
        throw TemplateError("the template's macros call each other too deep");
      }
    }
    ~Level() { --levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& levels_;
  };

  /// `now` is the time that strftime_now writes. References outlive this.
  Evaluator(const std::tm& now, WorkBudget& budget, MacroRunner& macros)
      : now_(now), budget_(budget), macros_(macros) {}

  Value Evaluate(const Expression& expression, const Scope& scope);
  /// `filter` (kFilter) applied to `subject`.
  Value Filtered(const Expression& filter, const Value& subject, const Scope& scope);

 private:
  Value EvaluateName(const Expression& expression, const Scope& scope);
  Value EvaluateItems(const Expression& expression, const Scope& scope);
  Value EvaluateDict(const Expression& expression, const Scope& scope);
  Value EvaluateSlice(const Expression& expression, const Scope& scope);
  Value EvaluateCall(const Expression& expression, const Scope& scope);
  Value EvaluateTest(const Expression& expression, const Scope& scope);
  Value EvaluateUnary(const Expression& expression, const Scope& scope);
  Value EvaluateBinary(const Expression& expression, const Scope& scope);
  Value EvaluateCompare(const Expression& expression, const Scope& scope);
  Value EvaluateConcat(const Expression& expression, const Scope& scope);
  Value EvaluateCondition(const Expression& expression, const Scope& scope);
  std::optional<int64_t> IndexOf(const ExpressionPtr& part, const Scope& scope);
  Arguments ArgumentsOf(const Expression& call, const Scope& scope);
  Value Call(const Value& callee, const Arguments& arguments);

  const std::tm& now_;
  WorkBudget& budget_;
  MacroRunner& macros_;
  int levels_ = 0;
};

}  // namespace affine::jinja
