#include "server/grammar/xgrammar/xgrammar_compiler.h"

#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/token_mask.h"
#include "server/grammar/xgrammar/ebnf_text.h"
#include "server/grammar/xgrammar/schema_keywords.h"
#include "server/grammar/xgrammar/trial_walk.h"
#include "server/grammar/xgrammar/work_budget.h"
#include "server/grammar/xgrammar/xgrammar_grammar.h"

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;

/// Longest part of what XGrammar says that an error repeats, in bytes.
constexpr size_t kMostRepeatedBytes = 200;

xgrammar::TokenizerInfo InfoOf(const ModelInfo& model, const Tokenizer& tokenizer) {
  std::vector<std::string> vocab(model.vocab_size);
  const int32_t known = std::min(model.vocab_size, tokenizer.vocab_size());
  for (int32_t id = 0; id < known; ++id) {
    if (!tokenizer.IsSpecial(id)) vocab[id] = tokenizer.TokenBytes(id);
  }
  return {vocab, xgrammar::VocabType::RAW, model.vocab_size,
          std::vector<int32_t>(model.eos_token_ids.begin(), model.eos_token_ids.end())};
}

/// A grammar, and what following it costs.
struct Tried {
  xgrammar::CompiledGrammar compiled;
  TrialCost cost;
  bool cheap() const { return cost.mean <= kWorkOfToken && cost.worst <= kMostWorkAtOnce; }
};

/// One compilation, by a compiler of its own, which shares the masks of rules that are alike within
/// one grammar and keeps nothing from one caller to another, nor what an exception left behind.
class Compilation {
 public:
  Compilation(const xgrammar::TokenizerInfo& info, const WorkBudget& budget)
      : compiler_(info, /*max_threads=*/1, /*cache_enabled=*/true), budget_(budget) {}

  Tried Compile(const StructuredOutput& form) {
    switch (form.kind) {
      case Kind::kChoice:
        return Try(compiler_.CompileGrammar(EbnfOfChoices(form.choices)));
      case Kind::kRegex:
        return CompileRegex(WithPlainDots(form.text));
      case Kind::kJsonSchema:
        return Try(compiler_.CompileJSONSchema(form.text, /*any_whitespace=*/false));
      case Kind::kGrammar:
        return Try(compiler_.CompileGrammar(form.text));
      case Kind::kJsonObject:
        break;
    }
    return Try(compiler_.CompileJSONSchema(R"({"type": "object"})", /*any_whitespace=*/false));
  }

 private:
  Tried Try(xgrammar::CompiledGrammar compiled) {
    const TrialCost cost = WalkOnTrial(compiled, budget_, kMostWorkAtOnce);
    return {std::move(compiled), cost};
  }

  // As one automaton, which is quick to follow unless something is repeated many times, and may be
  // too large; else as rules.
  Tried CompileRegex(const std::string& regex) {
    std::optional<Tried> whole;
    try {
      whole = Try(compiler_.CompileGrammar(EbnfOfRegex(regex)));
      if (whole->cost.mean <= kWorkOfToken / 8 || budget_.warning()) return *std::move(whole);
    } catch (const BudgetSpent&) {
      throw;
    } catch (const std::exception&) {
      // What is no regular expression at all is told of again.
    }
    Tried rules = Try(compiler_.CompileRegex(regex));
    return whole && whole->cost.mean <= rules.cost.mean ? *std::move(whole) : std::move(rules);
  }

  xgrammar::GrammarCompiler compiler_;
  const WorkBudget& budget_;
};

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kChoice:
      return "a list of choices";
    case Kind::kRegex:
      return "a regular expression";
    case Kind::kJsonSchema:
    case Kind::kJsonObject:
      return "a JSON schema";
    case Kind::kGrammar:
      break;
  }
  return "an EBNF grammar";
}

/// `why` in the caller's answer; in the log, only that there was something.
RequestError Bad(const StructuredOutput& form, const std::string& what, const std::string& why) {
  const std::string subject = "`" + form.field + "` ";
  std::string told = why.substr(0, kMostRepeatedBytes);
  if (told.size() < why.size()) told += "...";
  return {.cause = ErrorCause::kBadInput,
          .message = subject + what + ": " + told,
          .param = form.field,
          .log_message = subject + what};
}

class XGrammarCompiler final : public GrammarCompiler {
 public:
  explicit XGrammarCompiler(xgrammar::TokenizerInfo info) : info_(std::move(info)) {}

  GrammarResult Compile(const StructuredOutput& form, std::chrono::milliseconds most) override {
    try {
      return CompileWithin(form, most);
    } catch (const BudgetSpent&) {
      return RequestError{ErrorCause::kBadInput,
                          "`" + form.field + "` takes more than " + std::to_string(most.count()) +
                              " ms to compile, which is the limit (--max_grammar_compile_ms); "
                              "make it simpler",
                          form.field};
    } catch (const std::exception& error) {
      return Bad(form, std::string("is not ") + NameOf(form.kind) + " that this server can keep to",
                 error.what());
    }
  }

 private:
  GrammarResult CompileWithin(const StructuredOutput& form, std::chrono::milliseconds most) {
    if (form.kind == Kind::kJsonSchema) {
      if (const auto why = WhatIsNotKeptTo(form.text)) return Bad(form, "can't be kept to", *why);
    }
    const WorkBudget budget(most);
    Tried tried = Compilation(info_, budget).Compile(form);
    if (budget.warning()) return Bad(form, "can't be kept to in full", *budget.warning());
    if (!tried.cost.begins) return Bad(form, "can't be kept to", "it allows no text at all");
    if (!tried.cheap()) {
      return Bad(form, "can't be kept to", "it is too ambiguous to follow; make it simpler");
    }
    return std::make_shared<const XGrammarGrammar>(std::move(tried.compiled));
  }

  const xgrammar::TokenizerInfo info_;
};

}  // namespace

std::unique_ptr<GrammarCompiler> MakeXGrammarCompiler(const ModelInfo& model,
                                                      const Tokenizer& tokenizer) {
  return std::make_unique<XGrammarCompiler>(InfoOf(model, tokenizer));
}

}  // namespace affine
