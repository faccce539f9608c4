// The end of a server that was asked to stop.
#pragma once

#include <atomic>

#include "server/api/api_server.h"
#include "server/app/exit_code.h"
#include "server/app/model_hosts.h"
#include "server/app/signal_inbox.h"
#include "server/request/served_models.h"
#include "server/telemetry/server_log.h"

namespace affine {

/// What a drain ends or tells; all outlive it.
struct DrainParts {
  SignalInbox& inbox;
  ServerLog& log;
  ModelHosts& hosts;
  ServedModels& models;
  ApiServer& api;
  const Clock& clock;
};

/// Lets the requests of all models finish, all before one deadline; then they are cut off. A second
/// signal cuts them off at once; after a third, or where threads do not end, the process ends.
class Drain {
 public:
  /// `timeout_seconds` from Run on.
  Drain(DrainParts parts, double timeout_seconds)
      : parts_(parts), timeout_seconds_(timeout_seconds) {}
  /// Once only.
  Outcome Run();

 private:
  void Close();
  /// Until `finished`, watches for signals and for engines that fail.
  void Watch(const std::atomic<bool>& finished);
  void FinishCalls(Clock::Time deadline);

  DrainParts parts_;
  const double timeout_seconds_;
};

}  // namespace affine
