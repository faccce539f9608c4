// The whole server: opens the port, loads the model, serves, drains.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "server/api/api_server.h"
#include "server/app/config.h"
#include "server/app/engine_thread.h"
#include "server/app/exit_code.h"
#include "server/app/model_choice.h"
#include "server/app/model_loading.h"
#include "server/app/signal_inbox.h"
#include "server/engine/engine.h"
#include "server/request/served_models.h"
#include "server/telemetry/telemetry.h"

namespace affine {

/// What an App is made of that others own; all outlive it.
struct AppParts {
  SignalInbox& inbox;
  ServerLog& log;
  std::ostream& out;  // for the line that says it is ready
  ModelLoaders loaders;
};

class App {
 public:
  /// `config.api_key` is the key itself, wherever it was read from.
  App(Config config, ModelChoice choice, std::string version, AppParts parts);
  ~App();
  /// Serves until a signal has drained it, or says what went wrong. Once only.
  Outcome Run();

 private:
  LoadOptions MakeLoadOptions() const;
  /// Loads while watching for signals. Unset: loaded.
  std::optional<Outcome> Load();
  void StartServing(LoadedModel loaded);
  Outcome Serve();
  Outcome Drain();
  void FinishCalls(Clock::Time deadline);
  /// Ends the process when its threads can no longer be waited for.
  [[noreturn]] void EndNow(const Outcome& outcome);

  const Config config_;
  const ModelChoice choice_;
  const std::string version_;
  AppParts parts_;
  const SteadyClock clock_;
  // In the order of who needs whom: each is destroyed before what it uses.
  Telemetry telemetry_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<Engine> engine_;
  ServedModels models_;
  ApiServer api_;
  // Last, so that the engine tells nothing more to calls of an API server that is gone.
  std::unique_ptr<EngineThread> engine_thread_;
};

}  // namespace affine
