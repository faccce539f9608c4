// The whole server: opens the port, loads the models, serves, drains.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/api/api_server.h"
#include "server/app/config.h"
#include "server/app/exit_code.h"
#include "server/app/model_choice.h"
#include "server/app/model_hosts.h"
#include "server/app/model_loading.h"
#include "server/app/signal_inbox.h"
#include "server/request/served_models.h"
#include "server/telemetry/telemetry.h"

namespace affine {

/// What an App is made of that others own; all outlive it.
struct AppParts {
  SignalInbox& inbox;
  ServerLog& log;
  std::ostream& out;  // for the lines that say it is ready
  ModelLoaders loaders;
};

class App {
 public:
  /// `config.api_key` is the key itself, wherever it was read from. `choices` as ChooseModels gives
  /// them.
  App(Config config, std::vector<ModelChoice> choices, std::string version, AppParts parts);
  ~App();
  /// Serves until a signal has drained it, or says what went wrong. Once only.
  Outcome Run();

 private:
  /// Loads the models one after another and serves each once it is there. Set: the process is to
  /// end so; kDone after a signal.
  std::optional<Outcome> LoadAll();
  /// Loads while watching for signals and for engines that fail. kDone: a signal came.
  std::variant<LoadedModel, Outcome> Load(const ModelChoice& choice, int64_t cache_bytes);
  void StartServing(size_t index, LoadedModel loaded);
  void SayReady();
  Outcome Serve();
  Outcome DrainAll();

  const Config config_;
  const std::vector<ModelChoice> choices_;
  const std::string version_;
  AppParts parts_;
  const SteadyClock clock_;
  // In the order of who needs whom: each is destroyed before what it uses. The engines' threads
  // end before all of it, so that no engine tells anything to calls of an API server that is gone.
  Telemetry telemetry_;
  ModelHosts hosts_;
  ServedModels models_;
  ApiServer api_;
};

}  // namespace affine
