#include "model/jinja/renderer.h"

#include <algorithm>
#include <utility>

#include "model/jinja/loop.h"
#include "model/jinja/printed.h"

namespace affine::jinja {

using Kind = Statement::Kind;

std::string Renderer::Render(const Block& block) {
  std::string out;
  RenderBlock(block, top_, out);
  return out;
}

Renderer::Flow Renderer::RenderBlock(const Block& block, Scope& scope, std::string& out) {
  const Evaluator::Level level(evaluator_);
  for (const Statement& statement : block) {
    budget_.Steps();
    const Flow flow = RenderStatement(statement, scope, out);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Renderer::Flow Renderer::RenderStatement(const Statement& statement, Scope& scope,
                                         std::string& out) {
  try {
    switch (statement.kind) {
      case Kind::kText:
        budget_.Bytes(statement.text.size());
        out += statement.text;
        return Flow::kNext;
      case Kind::kOutput:
        Write(evaluator_.Evaluate(*statement.value, scope), out);
        return Flow::kNext;
      case Kind::kIf:
        return RenderIf(statement, scope, out);
      case Kind::kFor:
        return RenderFor(statement, scope, out);
      case Kind::kSet:
        Assign(statement, evaluator_.Evaluate(*statement.value, scope), scope);
        return Flow::kNext;
      case Kind::kSetBlock:
        return RenderSetBlock(statement, scope);
      case Kind::kMacro:
        top_.names[statement.name] = std::make_shared<const MacroRef>(MacroRef{&statement});
        return Flow::kNext;
      case Kind::kFilterBlock:
        return RenderFilterBlock(statement, scope, out);
      case Kind::kScope:
        return RenderScope(statement, scope, out);
      case Kind::kBreak:
        return Flow::kBreak;
      case Kind::kContinue:
        break;
    }
    return Flow::kContinue;
  } catch (const TemplateError& error) {
    if (error.line() > 0) throw;
    throw TemplateError(error.what(), statement.line);
  }
}

void Renderer::Write(const Value& value, std::string& out) {
  if (value.IsString()) {  // without a copy
    budget_.Bytes(value.string().size());
    out += value.string();
  } else {
    out += Printed(value, budget_);
  }
}

Renderer::Flow Renderer::RenderIf(const Statement& statement, Scope& scope, std::string& out) {
  const bool holds = Truth(evaluator_.Evaluate(*statement.value, scope));
  return RenderBlock(holds ? statement.body : statement.otherwise, scope, out);
}

// What the loop runs over: with a condition, only what fulfils it.
ListPtr Renderer::Chosen(const Statement& loop, const Scope& scope) {
  ListPtr items = Iterate(evaluator_.Evaluate(*loop.value, scope), budget_);
  if (loop.condition == nullptr) return items;
  std::vector<Value> chosen;
  for (const Value& item : items->items) {
    Scope turn{&scope};
    Bind(loop.targets, item, turn);
    if (Truth(evaluator_.Evaluate(*loop.condition, turn))) chosen.push_back(item);
  }
  return *MakeList(std::move(chosen), budget_).As<ListPtr>();
}

void Renderer::SetLoop(const Statement& loop, const ListPtr& items, size_t index, Scope& turn) {
  turn.names["loop"] = std::make_shared<const Loop>(Loop{items, index});
  Bind(loop.targets, items->items[index], turn);
}

Renderer::Flow Renderer::RenderFor(const Statement& statement, Scope& scope, std::string& out) {
  const ListPtr items = Chosen(statement, scope);
  for (size_t i = 0; i < items->items.size(); ++i) {
    budget_.Steps();
    Scope turn{&scope};
    SetLoop(statement, items, i, turn);
    if (RenderBlock(statement.body, turn, out) == Flow::kBreak) break;
  }
  if (!items->items.empty() || statement.otherwise.empty()) return Flow::kNext;
  Scope otherwise{&scope};
  return RenderBlock(statement.otherwise, otherwise, out);
}

Renderer::Flow Renderer::RenderScope(const Statement& statement, Scope& scope, std::string& out) {
  Scope inner{&scope};
  return RenderBlock(statement.body, inner, out);
}

Value Renderer::Filtered(const Statement& statement, Value value, const Scope& scope) {
  for (const auto& filter : statement.filters) {
    value = evaluator_.Filtered(*filter, value, scope);
  }
  return value;
}

Renderer::Flow Renderer::RenderFilterBlock(const Statement& statement, Scope& scope,
                                           std::string& out) {
  std::string inside;
  Scope inner{&scope};
  const Flow flow = RenderBlock(statement.body, inner, inside);
  Write(Filtered(statement, Value(std::move(inside)), scope), out);
  return flow;
}

Renderer::Flow Renderer::RenderSetBlock(const Statement& statement, Scope& scope) {
  std::string inside;
  Scope inner{&scope};
  const Flow flow = RenderBlock(statement.body, inner, inside);
  Assign(statement, Filtered(statement, Value(std::move(inside)), scope), scope);
  return flow;
}

void Renderer::Assign(const Statement& set, Value value, Scope& scope) {
  if (set.member.empty()) return Bind(set.targets, value, scope);
  const Value* found = scope.Find(set.name);
  const auto* space = found ? found->As<std::shared_ptr<Namespace>>() : nullptr;
  if (space == nullptr) throw TemplateError("'" + set.name + "' is no namespace");
  DepthOf(value);  // refuses a namespace
  budget_.Bytes(sizeof(Value));
  (*space)->members[set.member] = std::move(value);
}

void Renderer::Bind(const std::vector<std::string>& targets, const Value& value, Scope& scope) {
  budget_.Steps(static_cast<int64_t>(targets.size()));
  if (targets.size() == 1) {
    scope.names[targets.front()] = value;
    return;
  }
  const ListPtr parts = Iterate(value, budget_);
  if (parts->items.size() != targets.size()) {
    throw TemplateError("there are " + std::to_string(targets.size()) + " names for " +
                        std::to_string(parts->items.size()) + " values");
  }
  for (size_t i = 0; i < targets.size(); ++i) scope.names[targets[i]] = parts->items[i];
}

Value Renderer::Run(const Statement& macro, const Arguments& arguments) {
  Scope inner{&top_};
  if (arguments.positional.size() > macro.targets.size()) {
    throw TemplateError("the macro " + macro.name + " takes at most " +
                        std::to_string(macro.targets.size()) + " arguments");
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    inner.names[macro.targets[i]] = arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const bool known =
        std::find(macro.targets.begin(), macro.targets.end(), name) != macro.targets.end();
    if (!known || !inner.names.emplace(name, value).second) {
      throw TemplateError("the macro " + macro.name + " has no parameter " + name +
                          ", or was given it twice");
    }
  }
  const size_t without_default = macro.targets.size() - macro.defaults.size();
  for (size_t i = 0; i < macro.targets.size(); ++i) {
    const std::string& name = macro.targets[i];
    if (inner.names.contains(name)) continue;
    inner.names[name] = i < without_default
                            ? UndefinedValue("parameter '" + name + "' was not provided")
                            : evaluator_.Evaluate(*macro.defaults[i - without_default], inner);
  }
  std::string out;
  RenderBlock(macro.body, inner, out);
  return Value(std::move(out));
}

}  // namespace affine::jinja
