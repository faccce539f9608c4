// HTTP as the process serves it, on a free loopback port, before a scripted engine.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/api/http/http_server.h"
#include "server/api/http/http_service.h"
#include "tests/server/api/loopback_client.h"
#include "tests/server/api/recording_api_observer.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"
#include "tests/support/fake_chat_template.h"
#include "tests/support/fake_clock.h"

namespace affine {

inline const SteadyClock kSteadyClock;

/// Accepts on a free port and gives every connection to one HttpServer.
class HttpHarness {
 public:
  HttpHarness(HttpHandler& handler, HttpLimits limits = {}, size_t max_connections = 64,
              const Clock& clock = kSteadyClock)
      : server_(handler, clock, limits, max_connections),
        acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
    Accept();
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { context_.run(); });
  }
  ~HttpHarness() {
    server_.Cut();
    server_.WaitUntilEmpty(std::nullopt);
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  int port() const { return acceptor_.local_endpoint().port(); }
  HttpServer& server() { return server_; }

 private:
  void Accept() {
    acceptor_.async_accept(boost::asio::make_strand(context_),
                           [this](boost::system::error_code error, HttpSession::Socket socket) {
                             if (error) return;
                             server_.Adopt(std::move(socket));
                             Accept();
                           });
  }

  boost::asio::io_context context_;
  HttpServer server_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::thread> threads_;
};

/// The real routes before a scripted engine, whose model is called "tiny". Its clock stands still.
class ServiceHarness {
 public:
  explicit ServiceHarness(ApiOptions options = {.version = "1.2.3"}, HttpLimits limits = {},
                          const StabilitySource* stability = nullptr)
      : service_(options, models_, clock_, observer_, [] { return std::string("affine_up 1\n"); }) {
    models_.Add({"tiny", &engine_, &tokenizer_, 1700000000, stability, nullptr, &chat_template_});
    http_ = std::make_unique<HttpHarness>(service_, limits, 64, clock_);
  }
  int port() const { return http_->port(); }
  HttpServer& server() { return http_->server(); }
  ScriptedEngine& engine() { return engine_; }
  ByteTokenizer& tokenizer() { return tokenizer_; }
  ServedModels& models() { return models_; }
  RecordingApiObserver& observer() { return observer_; }
  FakeClock& clock() { return clock_; }
  void Stop() { http_.reset(); }

 private:
  ByteTokenizer tokenizer_{{"ab", "\xe2\x82", "\xac"}};
  FakeChatTemplate chat_template_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"tiny"}};
  FakeClock clock_;
  RecordingApiObserver observer_;
  HttpService service_;
  std::unique_ptr<HttpHarness> http_;
};

/// A request of HTTP/1.1 with Content-Length where there is a body.
inline std::string RequestText(const std::string& method, const std::string& target,
                               const std::string& body = "", const std::string& headers = "") {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

}  // namespace affine
