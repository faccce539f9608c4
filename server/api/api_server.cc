#include "server/api/api_server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "server/api/front_door.h"
#include "server/api/grpc/grpc_server.h"
#include "server/api/http/http_server.h"
#include "server/api/http/http_service.h"

namespace affine {

namespace net = boost::asio;

namespace {

HttpLimits LimitsOf(const ApiOptions& options) {
  HttpLimits limits;
  limits.body_bytes = static_cast<uint64_t>(std::max<int64_t>(options.max_body_bytes, 0));
  return limits;
}

}  // namespace

struct ApiServer::Parts {
  Parts(ApiOptions given, const ServedModels& served, const Clock& time, ApiObserver& listener,
        std::function<std::string()> metrics_page)
      : options(std::move(given)),
        models(served),
        clock(time),
        observer(listener),
        service(options, models, clock, observer, std::move(metrics_page)),
        http(service, clock, LimitsOf(options),
             static_cast<size_t>(std::max(options.max_http_connections, 1))),
        door(
            context, {.host = options.host, .port = options.port},
            [this](int descriptor) { grpc->HandOver(descriptor); },
            [this](FrontDoor::Socket socket) { http.Adopt(std::move(socket)); }) {}

  const ApiOptions options;
  const ServedModels& models;
  const Clock& clock;
  ApiObserver& observer;
  HttpService service;
  HttpServer http;
  // Destroyed before what its handlers refer to, after what posts to it.
  net::io_context context;
  FrontDoor door;
  std::unique_ptr<GrpcServer> grpc;
  std::vector<std::thread> threads;  // empty unless started and not shut down
};

ApiServer::ApiServer(ApiOptions options, const ServedModels& models, const Clock& clock,
                     ApiObserver& observer, std::function<std::string()> metrics_page)
    : parts_(std::make_unique<Parts>(std::move(options), models, clock, observer,
                                     std::move(metrics_page))) {}

ApiServer::~ApiServer() { Shutdown(std::chrono::milliseconds(0)); }

std::optional<std::string> ApiServer::Start() {
  Parts& parts = *parts_;
  if (auto error = parts.door.Listen()) return error;
  try {
    parts.grpc = std::make_unique<GrpcServer>(
        GrpcServerOptions{.version = parts.options.version,
                          .api_key = parts.options.api_key,
                          .max_receive_bytes = parts.options.max_body_bytes},
        parts.models, parts.clock, parts.observer, parts.context.get_executor());
  } catch (const std::exception& fault) {
    return std::string("gRPC does not start: ") + fault.what();
  }
  PublishReadiness();
  for (int i = 0; i < std::max(parts.options.threads, 1); ++i) {
    parts.threads.emplace_back([&parts] {
      const auto guard = net::make_work_guard(parts.context);
      parts.context.run();
    });
  }
  return std::nullopt;
}

int ApiServer::port() const { return parts_->door.port(); }

void ApiServer::PublishReadiness() {
  if (parts_->grpc) parts_->grpc->SetServing(parts_->models.ready());
}

void ApiServer::Shutdown(std::chrono::milliseconds grace) {
  Parts& parts = *parts_;
  if (parts.threads.empty()) return;
  const Clock::Time deadline = parts.clock.Now() + grace;
  std::promise<void> closed;
  parts.door.Close([&closed] { closed.set_value(); });
  closed.get_future().wait();
  parts.http.Drain();
  std::thread grpc_end([&] { parts.grpc->Shutdown(deadline); });
  if (!parts.http.WaitUntilEmpty(grace)) {
    parts.http.Cut();
    parts.http.WaitUntilEmpty(std::nullopt);
  }
  grpc_end.join();
  parts.context.stop();
  for (std::thread& thread : parts.threads) thread.join();
  parts.threads.clear();
}

}  // namespace affine
