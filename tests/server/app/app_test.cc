#include "server/app/app.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/model_error.h"
#include "tests/server/app/http_exchange.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/telemetry/line_sink.h"
#include "tests/support/fake_model.h"

namespace affine {
namespace {

/// A door that a thread waits before, until it is opened for good.
class Gate {
 public:
  void Open() { opened_.set_value(); }
  /// Tells whoever waits in AwaitSomeone, then waits for Open.
  void Pass() {
    if (!told_) someone_.set_value();
    told_ = true;
    open_.wait();
  }
  void AwaitSomeone() { someone_.get_future().wait(); }

 private:
  std::promise<void> opened_;
  std::promise<void> someone_;
  const std::shared_future<void> open_ = opened_.get_future().share();
  bool told_ = false;  // for the thread that passes
};

constexpr char kBody[] = R"({"prompt": "abc", "max_tokens": 20, "ignore_eos": true})";

/// An app on a fake model, run on a thread of its own, with real signals and a real port.
class AppTest : public testing::Test {
 protected:
  void SetUp() override { config_.port = 0; }

  ModelLoaders Loaders() {
    return {[](const std::string&) { return std::make_unique<ByteTokenizer>(); },
            [this](const LoadOptions& options) -> std::unique_ptr<LanguageModel> {
              if (before_load_) before_load_(options);
              FakeModelOptions fake;
              fake.vocab_size = ByteTokenizer().vocab_size();
              auto model = std::make_unique<FakeModel>(fake);
              model->before_step = before_step_;
              return model;
            }};
  }
  void Start() {
    running_ = std::async(std::launch::async, [this] {
      App app(config_, {"fake", "folder"}, "1.2.3", {inbox_, log_, out_, Loaders()});
      return app.Run();
    });
  }
  int Port() {
    return nlohmann::json::parse(sink_->WaitForLine("\"listening\""))["port"].get<int>();
  }
  void AwaitReady() { sink_->WaitForLine("\"ready\""); }
  Outcome Stop() {
    kill(getpid(), SIGTERM);
    return running_.get();
  }

  SignalInbox inbox_;  // first: it blocks the signals for the threads to come
  Config config_;
  std::function<void(const LoadOptions&)> before_load_;
  std::function<void(const StepBatch&)> before_step_;
  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
  std::ostringstream out_;
  std::future<Outcome> running_;
};

TEST_F(AppTest, IsLiveWhileTheModelLoadsAndReadyAfterwards) {
  Gate gate;
  before_load_ = [&gate](const LoadOptions&) { gate.Pass(); };
  Start();
  EXPECT_EQ(HttpExchange(Port(), "GET", "/health").status(), 200);
  EXPECT_EQ(HttpExchange(Port(), "GET", "/ready").status(), 503);
  EXPECT_EQ(HttpExchange(Port(), "POST", "/v1/completions", kBody).status(), 503);
  gate.Open();
  AwaitReady();
  EXPECT_EQ(HttpExchange(Port(), "GET", "/ready").status(), 200);
  const HttpExchange answer(Port(), "POST", "/v1/completions", kBody);
  EXPECT_EQ(answer.status(), 200) << answer.body();
  EXPECT_EQ(nlohmann::json::parse(answer.body())["usage"]["completion_tokens"], 20);
  const HttpExchange page(Port(), "GET", "/metrics");
  EXPECT_NE(page.body().find("affine_model_info{"), std::string::npos);
  const Outcome outcome = Stop();
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.cause;
  EXPECT_NE(out_.str().find("serves fake"), std::string::npos) << out_.str();
}

TEST_F(AppTest, PassesTheConfigurationOnToTheLoader) {
  config_.dtype = "float32";
  config_.max_model_len = 128;
  config_.kv_cache_gib = 0.5;
  config_.threads = 3;
  LoadOptions seen;
  before_load_ = [&seen](const LoadOptions& options) { seen = options; };
  Start();
  AwaitReady();
  Stop();
  EXPECT_EQ(seen.path, "folder");
  EXPECT_EQ(seen.dtype, "float32");
  EXPECT_EQ(seen.max_model_len, 128);
  EXPECT_EQ(seen.kv_cache_bytes, int64_t{1} << 29);
  EXPECT_EQ(seen.num_threads, 3);
  EXPECT_EQ(seen.max_batched_tokens, 2048);
}

TEST_F(AppTest, APromptComesInSmallPiecesBesideDecodesIfTheFlagSaysSo) {
  config_.max_prefill_tokens_beside_decodes = 3;
  Gate gate;
  size_t longest = 0;  // of the slices in steps of two requests
  before_step_ = [&](const StepBatch& batch) {
    gate.Pass();
    for (const SequenceSlice& slice : batch.slices) {
      if (batch.slices.size() > 1) longest = std::max(longest, slice.tokens.size());
    }
  };
  Start();
  AwaitReady();
  const int port = Port();
  const auto post = [port](const char* body) {
    return std::async(std::launch::async, [port, body] {
      return HttpExchange(port, "POST", "/v1/completions", body).status();
    });
  };
  auto decoding = post(R"({"prompt": "abc", "max_tokens": 100, "ignore_eos": true})");
  gate.AwaitSomeone();
  auto arriving =
      post(R"({"prompt": "0123456789012345678901234567890123456789", "max_tokens": 1})");
  const std::string waits = "affine_num_requests_waiting{model_name=\"fake\"} 1\n";
  while (HttpExchange(port, "GET", "/metrics").body().find(waits) == std::string::npos) {
  }
  gate.Open();
  EXPECT_EQ(decoding.get(), 200);
  EXPECT_EQ(arriving.get(), 200);
  Stop();
  EXPECT_EQ(longest, 3u);
}

TEST_F(AppTest, ASignalEndsTheLoading) {
  Gate gate;
  before_load_ = [&gate](const LoadOptions& options) {
    gate.Pass();
    options.progress(0.5);
    ADD_FAILURE() << "went on loading";
  };
  Start();
  gate.AwaitSomeone();
  kill(getpid(), SIGTERM);
  sink_->WaitForLine("stopping before the model is loaded");
  gate.Open();
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppTest, APortInUseIsNamed) {
  Start();
  AwaitReady();
  Config second = config_;
  second.port = Port();
  App app(second, {"fake", "folder"}, "1.2.3", {inbox_, log_, out_, Loaders()});
  const Outcome outcome = app.Run();
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_NE(outcome.cause.find(std::to_string(second.port)), std::string::npos) << outcome.cause;
  Stop();
}

TEST_F(AppTest, AModelThatCanNotBeLoadedEndsTheProcessWithTheCause) {
  before_load_ = [](const LoadOptions&) { throw ModelError("config.json: no vocab_size"); };
  Start();
  const Outcome outcome = running_.get();
  EXPECT_EQ(outcome.code, ExitCode::kConfig);
  EXPECT_EQ(outcome.cause, "config.json: no vocab_size");
}

/// A request that stands inside its first step until the test opens the gate.
class AppDrainTest : public AppTest {
 protected:
  void StartRequest() {
    before_step_ = [this](const StepBatch&) { gate_.Pass(); };
    Start();
    AwaitReady();
    port_ = Port();
    answer_ = std::async(std::launch::async,
                         [this] { return HttpExchange(port_, "POST", "/v1/completions", kBody); });
    gate_.AwaitSomeone();
    kill(getpid(), SIGTERM);
    sink_->WaitForLine("\"draining\"");
  }

  Gate gate_;
  int port_ = 0;
  std::future<HttpExchange> answer_;
};

TEST_F(AppDrainTest, RunningRequestsFinishAndNewOnesAreTurnedAway) {
  StartRequest();
  EXPECT_EQ(HttpExchange(port_, "GET", "/ready").status(), 503);
  EXPECT_EQ(HttpExchange(port_, "GET", "/health").status(), 200);
  EXPECT_EQ(HttpExchange(port_, "POST", "/v1/completions", kBody).status(), 503);
  gate_.Open();
  const HttpExchange answer = answer_.get();
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(nlohmann::json::parse(answer.body())["usage"]["completion_tokens"], 20);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppDrainTest, WhatOutlastsTheTimeoutIsCutOffAndLogged) {
  config_.shutdown_timeout = 0;
  StartRequest();
  sink_->WaitForLine("--shutdown_timeout is over");
  gate_.Open();
  EXPECT_EQ(answer_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppDrainTest, ASecondSignalCutsRequestsOff) {
  config_.shutdown_timeout = 3600;
  StartRequest();
  kill(getpid(), SIGINT);
  sink_->WaitForLine("second signal");
  gate_.Open();
  EXPECT_EQ(answer_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

}  // namespace
}  // namespace affine
