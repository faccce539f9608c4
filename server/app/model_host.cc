#include "server/app/model_host.h"

#include <chrono>
#include <utility>

namespace affine {
namespace {

/// What AttentionOf shows, which tells apart that nothing was sampled yet and that nothing will be.
const StabilitySource* Shown(const StabilitySource& source, const EngineOptions& options) {
  return options.stability_sample_every > 0 ? &source : nullptr;
}

std::unique_ptr<GrammarService> Service(std::unique_ptr<GrammarCompiler> compiler,
                                        const GrammarOptions& options) {
  if (compiler == nullptr) return nullptr;
  return std::make_unique<GrammarService>(std::move(compiler), options);
}

}  // namespace

ModelHost::ModelHost(std::string name, LoadedModel loaded, const EngineOptions& options,
                     const GrammarOptions& grammar_options, const Clock& clock,
                     ModelTelemetry& telemetry, std::function<void()> on_failure)
    : name_(std::move(name)),
      load_seconds_(loaded.seconds),
      tokenizer_(std::move(loaded.tokenizer)),
      chat_template_(std::move(loaded.chat_template)),
      model_(std::move(loaded.model)),
      grammars_(Service(std::move(loaded.grammars), grammar_options)),
      engine_(*model_, options, clock, telemetry.observer()),
      stability_(Shown(telemetry.ModelReady(engine_, options.enable_prefix_caching), options)),
      thread_(engine_, std::move(on_failure)) {}

ServedModel ModelHost::Listing() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {name_,
          &engine_,
          tokenizer_.get(),
          std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count(),
          stability_,
          grammars_.get(),
          chat_template_.get()};
}

void ModelHost::StopThread() {
  thread_.Stop();
  if (grammars_ != nullptr) grammars_->Stop();
}

std::optional<Outcome> ModelHost::Failure() const {
  if (!thread_.failed()) return std::nullopt;
  return Outcome{ExitCode::kBroken,
                 "the engine of the model '" + name_ + "' stopped: " + thread_.cause()};
}

}  // namespace affine
