// One model's grammars: known ones at once, others once a thread has compiled them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/grammar/deep_thread.h"
#include "server/grammar/form_limits.h"
#include "server/grammar/grammar_cache.h"
#include "server/grammar/grammar_compiler.h"

namespace affine {

struct GrammarOptions {
  FormLimits limits{};
  size_t max_queued = 16;                           // forms that wait to be compiled; at least 1
  std::chrono::milliseconds max_compile_time{500};  // of the processor
  size_t cache_bytes = 64 << 20;
};

/// Thread-safe. One thread of its own compiles, one form after another, each for at most
/// `max_compile_time`; so a form that is not refused as kFull has its grammar, or why it has none,
/// within (the forms before it + 1) times that. Forms that were refused are not remembered.
class GrammarService final : public GrammarSource {
 public:
  GrammarService(std::unique_ptr<GrammarCompiler> compiler, const GrammarOptions& options);
  ~GrammarService() override { Stop(); }

  std::optional<GrammarResult> Get(const StructuredOutput& form,
                                   std::function<void(GrammarResult)> done) override;
  /// Waits for the compilation at hand and refuses what waits, and whatever comes later, as
  /// kUnavailable: nobody is told anything after this. May be called again, by the same thread.
  void Stop();

 private:
  using Done = std::function<void(GrammarResult)>;
  struct Job {
    std::string key;
    StructuredOutput form;
    std::vector<Done> waiting;
  };
  void Run();
  static void Tell(Job& job, const GrammarResult& result);

  const std::unique_ptr<GrammarCompiler> compiler_;
  const GrammarOptions options_;
  std::mutex mutex_;
  std::condition_variable work_;
  bool stopping_ = false;
  GrammarCache cache_;
  std::deque<Job> jobs_;  // the first is at hand while compiling_
  bool compiling_ = false;
  DeepThread thread_;
};

}  // namespace affine
