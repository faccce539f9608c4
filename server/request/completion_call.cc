#include "server/request/completion_call.h"

#include <utility>

#include "server/request/answer_group.h"
#include "server/request/answer_seed.h"
#include "server/request/engine_call.h"
#include "server/request/field_checks.h"
#include "server/request/grammar_wait.h"
#include "server/request/request_id.h"
#include "server/request/request_validator.h"
#include "server/request/token_queue.h"

namespace affine {
namespace {

RequestError RefusedBy(const ServedModel& model, RequestError error) {
  error.model_name = model.name;
  return error;
}

/// What is submitted for all prompts, and where its tokens go: one of each for each candidate.
struct Submission {
  std::vector<Request> requests;
  std::vector<std::shared_ptr<TokenQueue>> queues;
  std::vector<std::shared_ptr<const EngineCall::Plan>> plans;
};

void AddCandidates(ValidatedRequest validated, const OutputGrammar* grammar,
                   const std::shared_ptr<ReadySignal>& ready, Submission& submission) {
  const auto plan = std::make_shared<const EngineCall::Plan>(EngineCall::PlanOf(validated));
  for (int32_t i = 0; i < validated.num_candidates; ++i) {
    Request request = validated.request;
    request.answer = static_cast<int32_t>(submission.requests.size());
    request.sampling.seed = SeedOfAnswer(validated.request.sampling.seed, i);
    if (i > 0) {
      request.same_prompt = true;
      request.sampling.prompt_top_log_probs = -1;  // the first one's serve all
    }
    if (grammar != nullptr) request.grammar = grammar->NewMatcher();
    auto queue = std::make_shared<TokenQueue>([ready] { ready->Raise(); });
    request.sink = queue;
    submission.requests.push_back(std::move(request));
    submission.queues.push_back(std::move(queue));
    submission.plans.push_back(plan);
  }
}

/// Submits all candidates of all prompts, or none. `grammar` may be null.
GrammarWait::Started Submit(const ServedModel& model, std::vector<ValidatedRequest> validated,
                            const OutputGrammar* grammar, std::function<void()> on_ready) {
  const int32_t num_answers = validated.front().num_answers;
  const int32_t num_candidates = validated.front().num_candidates;
  const bool scores_prompts = validated.front().request.sampling.prompt_top_log_probs >= 0;
  const auto ready = std::make_shared<ReadySignal>(std::move(on_ready));
  Submission submission;
  for (ValidatedRequest& one : validated) {
    AddCandidates(std::move(one), grammar, ready, submission);
  }
  auto submitted = model.engine->SubmitAll(std::move(submission.requests));
  if (auto* error = std::get_if<RequestError>(&submitted)) return RefusedBy(model, *error);
  const auto& handles = std::get<std::vector<RequestHandle>>(submitted);
  AnswerGroup::Calls calls;
  for (size_t i = 0; i < handles.size(); ++i) {
    calls.push_back(std::make_unique<EngineCall>(std::move(submission.plans[i]), model,
                                                 std::move(submission.queues[i]), handles[i]));
  }
  return std::make_shared<AnswerGroup>(model, std::move(calls), num_answers, num_candidates,
                                       scores_prompts, ready);
}

/// With a grammar that is known, or once it is.
GrammarWait::Started SubmitWithGrammar(const ServedModel& model,
                                       std::vector<ValidatedRequest> validated,
                                       const StructuredOutput& form,
                                       std::function<void()> on_ready) {
  if (model.grammars == nullptr) {
    return RefusedBy(model, BadInput(form.field, "`" + form.field +
                                                     "` is given, but this server keeps to no "
                                                     "forms of output; leave it out"));
  }
  const auto submit = [&model, on_ready](std::vector<ValidatedRequest> requests,
                                         const std::shared_ptr<const OutputGrammar>& grammar) {
    return Submit(model, std::move(requests), grammar.get(), on_ready);
  };
  for (ValidatedRequest& one : validated) one.request.grammar_field = form.field;
  auto wait = std::make_shared<GrammarWait>(model, std::move(validated), submit, on_ready);
  std::optional<GrammarResult> known = model.grammars->Get(form, wait->Receiver());
  if (!known) return wait;
  if (auto* error = std::get_if<RequestError>(&*known)) return RefusedBy(model, std::move(*error));
  return submit(wait->TakeRequests(), std::get<std::shared_ptr<const OutputGrammar>>(*known));
}

}  // namespace

std::variant<std::shared_ptr<CompletionCall>, RequestError> StartCompletion(
    CompletionParams params, const ServedModels& models, std::function<void()> on_ready) {
  auto found = models.Find(params.model);
  if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
  const ServedModel& model = *std::get<const ServedModel*>(found);
  const RequestValidator validator(model.engine->info(), *model.tokenizer, model.chat_template);
  auto checked = validator.ValidateAll(params, FreshRandomBits());
  if (auto* error = std::get_if<RequestError>(&checked)) return RefusedBy(model, *error);
  auto& validated = std::get<std::vector<ValidatedRequest>>(checked);
  if (params.structured_output) {
    return SubmitWithGrammar(model, std::move(validated), *params.structured_output,
                             std::move(on_ready));
  }
  return Submit(model, std::move(validated), nullptr, std::move(on_ready));
}

}  // namespace affine
