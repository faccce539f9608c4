// A template's statements to text.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "model/jinja/evaluator.h"
#include "model/jinja/scope.h"
#include "model/jinja/syntax_tree.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

/// One rendering of one template. Throws TemplateError, with the line, and RaisedByTemplate.
class Renderer final : private MacroRunner {
 public:
  /// References outlive this.
  Renderer(const Scope& variables, const std::tm& now, WorkBudget& budget)
      : top_{&variables}, budget_(budget), evaluator_(now, budget, *this) {}

  /// Once.
  std::string Render(const Block& block);

 private:
  /// What comes after a statement.
  enum class Flow { kNext, kBreak, kContinue };

  Value Run(const Statement& macro, const Arguments& arguments) override;
  Flow RenderBlock(const Block& block, Scope& scope, std::string& out);
  Flow RenderStatement(const Statement& statement, Scope& scope, std::string& out);
  Flow RenderIf(const Statement& statement, Scope& scope, std::string& out);
  Flow RenderFor(const Statement& statement, Scope& scope, std::string& out);
  Flow RenderScope(const Statement& statement, Scope& scope, std::string& out);
  Flow RenderFilterBlock(const Statement& statement, Scope& scope, std::string& out);
  Flow RenderSetBlock(const Statement& statement, Scope& scope);
  ListPtr Chosen(const Statement& loop, const Scope& scope);
  void SetLoop(const Statement& loop, const ListPtr& items, size_t index, Scope& turn);
  void Assign(const Statement& set, Value value, Scope& scope);
  void Bind(const std::vector<std::string>& targets, const Value& value, Scope& scope);
  void Write(const Value& value, std::string& out);
  Value Filtered(const Statement& statement, Value value, const Scope& scope);

  Scope top_;
  WorkBudget& budget_;
  Evaluator evaluator_;
};

}  // namespace affine::jinja
