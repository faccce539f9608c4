#include "server/api/http/http_server.h"

#include <utility>

namespace affine {

HttpServer::HttpServer(HttpHandler& handler, const Clock& clock, HttpLimits limits,
                       size_t max_connections)
    : handler_(handler), clock_(clock), limits_(limits), max_connections_(max_connections) {}

void HttpServer::Adopt(boost::asio::ip::tcp::socket socket) {
  const std::lock_guard lock(mutex_);
  // Refused connections live for a moment too; past twice the limit there is no time to be polite.
  if (draining_ || sessions_.size() >= 2 * max_connections_) return;
  const uint64_t number = next_number_++;
  const auto session = std::make_shared<HttpSession>(std::move(socket), handler_, clock_, limits_,
                                                     [this, number] { Remove(number); });
  const bool full = sessions_.size() >= max_connections_;
  sessions_.emplace(number, session);
  if (full) {
    session->StartRefused(503, "the server has its most HTTP connections, " +
                                   std::to_string(max_connections_) + "; try again later");
  } else {
    session->Start();
  }
}

void HttpServer::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  for (const auto& [number, session] : sessions_) session->Drain();
}

void HttpServer::Cut() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  for (const auto& [number, session] : sessions_) session->Cut();
}

bool HttpServer::WaitUntilEmpty(std::optional<std::chrono::milliseconds> patience) {
  std::unique_lock lock(mutex_);
  const auto empty = [this] { return sessions_.empty(); };
  if (patience) return emptied_.wait_for(lock, *patience, empty);
  emptied_.wait(lock, empty);
  return true;
}

size_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

void HttpServer::Remove(uint64_t number) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(number);
  if (sessions_.empty()) emptied_.notify_all();
}

}  // namespace affine
