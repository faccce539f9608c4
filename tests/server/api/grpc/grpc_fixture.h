// A real GrpcServer behind a loopback socket, on an engine that does what the test says.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "affine/v1/completion.grpc.pb.h"
#include "server/api/grpc/grpc_server.h"
#include "tests/server/api/recording_api_observer.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"
#include "tests/support/fake_clock.h"

namespace affine {

class GrpcFixture : public ::testing::Test {
 protected:
  explicit GrpcFixture(std::vector<std::string> pieces = {},
                       const StabilitySource* stability = nullptr)
      : tokenizer_(std::move(pieces)) {
    models_.Add({"tiny", &engine_, &tokenizer_, 0, stability});
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { executor_.run(); });
  }
  ~GrpcFixture() override {
    server_.reset();
    boost::asio::post(executor_, [this] { acceptor_.close(); });
    work_.reset();
    threads_.clear();  // joins
  }

  /// Starts the server and a channel to it.
  void Serve(GrpcServerOptions options = {}) { Serve(std::move(options), clock_); }
  void Serve(GrpcServerOptions options, const Clock& clock) {
    options.version = "1.2.3";
    server_ =
        std::make_unique<GrpcServer>(options, models_, clock, observer_, executor_.get_executor());
    Accept();
    channel_ = NewChannel();
    stub_ = v1::CompletionService::NewStub(channel_);
  }
  std::shared_ptr<grpc::Channel> NewChannel(grpc::ChannelArguments arguments = {}) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()),
        grpc::InsecureChannelCredentials(), arguments);
  }

  static v1::CompleteRequest Prompt(const std::string& text) {
    v1::CompleteRequest request;
    request.set_text(text);
    return request;
  }
  struct UnaryAnswer {
    grpc::Status status;
    v1::CompleteResponse response;
  };
  UnaryAnswer Complete(const v1::CompleteRequest& request, grpc::ClientContext& context) {
    UnaryAnswer answer;
    answer.status = stub_->Complete(&context, request, &answer.response);
    return answer;
  }
  UnaryAnswer Complete(const v1::CompleteRequest& request) {
    grpc::ClientContext context;
    return Complete(request, context);
  }
  std::vector<int32_t> Ids(std::string_view text) { return tokenizer_.Encode(text, false); }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"tiny"}};
  SteadyClock clock_;
  FakeClock time_;  // for servers that are told to use it
  RecordingApiObserver observer_;
  boost::asio::io_context executor_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CompletionService::Stub> stub_;

 private:
  void Accept() {
    acceptor_.async_accept(
        [this](boost::system::error_code error, boost::asio::ip::tcp::socket socket) {
          if (error) return;  // closed
          if (server_) server_->HandOver(socket.release());
          Accept();
        });
  }

  boost::asio::ip::tcp::acceptor acceptor_{executor_,
                                           {boost::asio::ip::make_address("127.0.0.1"), 0}};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_{
      executor_.get_executor()};
  std::vector<std::jthread> threads_;
};

inline std::string MetadataValue(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
                                 const std::string& name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

}  // namespace affine
