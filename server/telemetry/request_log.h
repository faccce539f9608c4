// One line for each request that finished, was refused, or whose attention passed a limit; prompts,
// outputs and other texts of callers never, ids of requests apart.
#pragma once

#include <string>

#include "server/engine/engine_observer.h"
#include "server/telemetry/server_log.h"

namespace affine {

/// Thread-safe. Lines carry request_id, model, prompt_tokens, output_tokens, cached_tokens,
/// queue_ms, ttft_ms, duration_ms, finish_reason, code ("OK" or the gRPC status by name) and, with
/// an error, its cause, text and parameter. A time that there was not is left out. ttft_ms runs to
/// the first token's write to the caller's stream; if the answer is no stream, or ended in the
/// engine before that write, until the engine had the token.
class RequestLog final : public EngineObserver {
 public:
  /// `log` outlives this. `model_name` is the name that the model is served under.
  RequestLog(ServerLog& log, std::string model_name);
  void OnStep(const StepReport& report) override {}
  void OnInterTokenGap(Clock::Duration gap) override {}
  void OnFinish(const Request& request, const RequestFinish& finish) override;
  void OnStability(std::span<const HeadStability>) override {}  // AttentionMetrics shows it
  void OnUnstable(const Request& request, const LimitBreach& breach) override;

 private:
  ServerLog& log_;
  const std::string model_name_;
};

/// What never reached an engine. Lines carry request_id, code, cause, text and parameter.
/// Thread-safe.
class RefusalLog {
 public:
  /// `log` outlives this.
  explicit RefusalLog(ServerLog& log) : log_(log) {}
  void Write(const std::string& request_id, const RequestError& error);

 private:
  ServerLog& log_;
};

}  // namespace affine
