// All HTTP connections of a process: how many there may be, and their end.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "server/api/http/http_handler.h"
#include "server/api/http/http_limits.h"
#include "server/api/http/http_session.h"

namespace affine {

/// Thread-safe.
class HttpServer {
 public:
  /// `max_connections`: one more is answered with 503. References outlive the server.
  HttpServer(HttpHandler& handler, const Clock& clock, HttpLimits limits, size_t max_connections);
  /// Serves `socket`, whose executor is a strand. The server outlives the sessions.
  void Adopt(boost::asio::ip::tcp::socket socket);
  /// Idle connections end now, the others with the answer in hand; new ones are closed.
  void Drain();
  /// Ends all connections.
  void Cut();
  /// True once no connection is left; false if that took longer than `patience` (unset: for ever).
  bool WaitUntilEmpty(std::optional<std::chrono::milliseconds> patience);
  size_t connections() const;

 private:
  void Remove(uint64_t number);

  HttpHandler& handler_;
  const Clock& clock_;
  const HttpLimits limits_;
  const size_t max_connections_;
  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  uint64_t next_number_ = 0;
  // Owned here until they close: a session that waits for its work alone has nothing pending.
  std::unordered_map<uint64_t, std::shared_ptr<HttpSession>> sessions_;
  bool draining_ = false;
};

}  // namespace affine
