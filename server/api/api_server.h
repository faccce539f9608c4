// The edge of the process: one TCP port that speaks gRPC and HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/request/clock.h"
#include "server/request/served_models.h"

namespace affine {

struct ApiOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: any free one; see ApiServer::port()
  int threads = 2;  // front-end threads: HTTP, JSON, tokenising, detokenising
  int64_t max_body_bytes = 16 << 20;
  int max_http_connections = 1024;  // one more is answered with 503
  std::string version = {};
  std::string api_key = {};                       // empty: none asked for
  std::vector<std::string> allowed_origins = {};  // of web pages; see AllowedOrigins
};

/// What the edge tells telemetry. Called on front-end threads; must not block.
class ApiObserver {
 public:
  virtual ~ApiObserver() = default;
  /// A completion refused before it reached an engine, or any other call
  /// answered with an error.
  virtual void OnRefused(const std::string& request_id, const RequestError& error) = 0;
  /// How long after its arrival the first token of a request for `model_name`
  /// was handed to the caller's stream; for an answer that is no stream, how
  /// long until the engine had it. At most once for a request, before the
  /// caller can have the token.
  virtual void OnFirstToken(const std::string& model_name, Clock::Duration since_arrival) = 0;
};

class ApiServer {
 public:
  /// All references outlive the server. `metrics_page` renders Prometheus' text
  /// format.
  ApiServer(ApiOptions options, const ServedModels& models, const Clock& clock,
            ApiObserver& observer, std::function<std::string()> metrics_page);
  ~ApiServer();  // Shutdown with no grace
  /// Binds and listens: live at once, ready when every model is. Returns why it
  /// could not (address in use, unknown host), naming the remedy.
  std::optional<std::string> Start();
  int port() const;
  /// Publishes models.ready() to grpc.health.v1; call after models were added
  /// or drained.
  void PublishReadiness();
  /// Stops accepting, lets calls in flight finish for at most `grace`, then
  /// cuts them off.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace affine
