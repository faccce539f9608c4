#include "server/grammar/grammar_service.h"

#include <utility>

namespace affine {
namespace {

RequestError Stopping() {
  return {ErrorCause::kUnavailable,
          "the server is shutting down and takes no new requests; try another replica", ""};
}

}  // namespace

GrammarService::GrammarService(std::unique_ptr<GrammarCompiler> compiler,
                               const GrammarOptions& options)
    : compiler_(std::move(compiler)),
      options_(options),
      cache_(options.cache_bytes),
      thread_([this] { Run(); }) {}

void GrammarService::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.Join();
  for (Job& job : jobs_) Tell(job, Stopping());
  jobs_.clear();
}

std::optional<GrammarResult> GrammarService::Get(const StructuredOutput& form, Done done) {
  if (auto error = CheckForm(form, options_.limits)) return *std::move(error);
  const std::string key = KeyOf(form);
  const std::lock_guard lock(mutex_);
  if (stopping_) return Stopping();
  if (auto known = cache_.Find(key)) return known;
  for (Job& job : jobs_) {
    if (job.key != key) continue;
    job.waiting.push_back(std::move(done));
    return std::nullopt;
  }
  const size_t queued = jobs_.size() - (compiling_ ? 1 : 0);
  if (queued >= options_.max_queued) {
    return RequestError{.cause = ErrorCause::kFull,
                        .message = "`" + form.field + "`: " + std::to_string(queued) +
                                   " other forms of output wait to be compiled, which is the "
                                   "limit (--max_queued_grammars); try again later",
                        .param = form.field,
                        .retry_after_seconds = 1};
  }
  jobs_.push_back({key, form, {}});
  jobs_.back().waiting.push_back(std::move(done));
  work_.notify_one();
  return std::nullopt;
}

// `jobs_` keeps the job at hand, so that others who ask for the same wait with it.
void GrammarService::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const StructuredOutput form = jobs_.front().form;
    compiling_ = true;
    lock.unlock();
    const GrammarResult result = compiler_->Compile(form, options_.max_compile_time);
    lock.lock();
    compiling_ = false;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const auto* grammar = std::get_if<std::shared_ptr<const OutputGrammar>>(&result);
    if (grammar != nullptr) cache_.Add(job.key, *grammar);
    lock.unlock();
    Tell(job, result);
    lock.lock();
  }
}

void GrammarService::Tell(Job& job, const GrammarResult& result) {
  for (Done& done : job.waiting) done(result);
}

}  // namespace affine
