// One served model at work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/app/engine_thread.h"
#include "server/app/exit_code.h"
#include "server/app/model_loading.h"
#include "server/engine/engine.h"
#include "server/grammar/grammar_service.h"
#include "server/request/served_models.h"
#include "server/telemetry/model_telemetry.h"

namespace affine {

/// Owns a loaded model with all that runs it: tokenizer, engine, the engine's thread, and the one
/// that compiles grammars.
class ModelHost {
 public:
  /// Starts the engine. `on_failure` is called on the engine's thread once Failure() is set.
  /// References outlive this.
  ModelHost(std::string name, LoadedModel loaded, const EngineOptions& options,
            const GrammarOptions& grammar_options, const Clock& clock, ModelTelemetry& telemetry,
            std::function<void()> on_failure);
  const std::string& name() const { return name_; }
  const ModelInfo& info() const { return model_->info(); }
  double load_seconds() const { return load_seconds_; }
  Engine& engine() { return engine_; }
  /// How the model is listed among the served ones, which this must outlive.
  ServedModel Listing();
  /// Why the process can't go on: the engine's thread has failed. Thread-safe.
  std::optional<Outcome> Failure() const;
  /// Ends all requests with kUnavailable, then the threads. The engine stays, for whoever refers to
  /// it.
  void StopThread();

 private:
  const std::string name_;
  const double load_seconds_;
  // Each is destroyed before what it uses.
  const std::unique_ptr<Tokenizer> tokenizer_;
  const std::unique_ptr<ChatTemplate> chat_template_;
  const std::unique_ptr<LanguageModel> model_;
  const std::unique_ptr<GrammarService> grammars_;  // null: forms of output are refused
  Engine engine_;
  const StabilitySource* const stability_;  // null: no step is sampled
  EngineThread thread_;
};

}  // namespace affine
