#include "server/app/app.h"

#include "model/model_error.h"
#include "tests/server/app/app_fixture.h"

namespace affine {
namespace {

TEST_F(AppTest, IsLiveWhileTheModelLoadsAndReadyAfterwards) {
  Door door;
  before_load_ = [&door](const LoadOptions&) { door.Pass(); };
  Start();
  EXPECT_EQ(HttpExchange(Port(), "GET", "/health").status(), 200);
  EXPECT_EQ(HttpExchange(Port(), "GET", "/ready").status(), 503);
  EXPECT_EQ(HttpExchange(Port(), "POST", "/v1/completions", kBody).status(), 503);
  door.Open();
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
  config_.speculative_tokens = 0;  // drafts would make the slices of decodes longer
  Door door;
  size_t longest = 0;  // of the slices in steps of two requests
  before_step_ = [&](const std::string&, const StepBatch& batch) {
    door.Pass();
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
  door.AwaitSomeone();
  auto arriving =
      post(R"({"prompt": "0123456789012345678901234567890123456789", "max_tokens": 1})");
  const std::string waits = "affine_num_requests_waiting{model_name=\"fake\"} 1\n";
  while (HttpExchange(port, "GET", "/metrics").body().find(waits) == std::string::npos) {
  }
  door.Open();
  EXPECT_EQ(decoding.get(), 200);
  EXPECT_EQ(arriving.get(), 200);
  Stop();
  EXPECT_EQ(longest, 3u);
}

TEST_F(AppTest, ASignalEndsTheLoading) {
  Door door;
  before_load_ = [&door](const LoadOptions& options) {
    door.Pass();
    options.progress(0.5);
    ADD_FAILURE() << "went on loading";
  };
  Start();
  door.AwaitSomeone();
  kill(getpid(), SIGTERM);
  sink_->WaitForLine("stopping before the model is loaded");
  door.Open();
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppTest, APortInUseIsNamed) {
  Start();
  AwaitReady();
  Config second = config_;
  second.port = Port();
  App app(second, {{"fake", "folder"}}, "1.2.3", {inbox_, log_, out_, Loaders()});
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

/// A request that stands inside its first step until the test opens the door.
class AppDrainTest : public AppTest {
 protected:
  void StartRequest() {
    before_step_ = [this](const std::string&, const StepBatch&) { door_.Pass(); };
    Start();
    AwaitReady();
    port_ = Port();
    answer_ = std::async(std::launch::async,
                         [this] { return HttpExchange(port_, "POST", "/v1/completions", kBody); });
    door_.AwaitSomeone();
    kill(getpid(), SIGTERM);
    sink_->WaitForLine("\"draining\"");
  }

  Door door_;
  int port_ = 0;
  std::future<HttpExchange> answer_;
};

TEST_F(AppDrainTest, RunningRequestsFinishAndNewOnesAreTurnedAway) {
  StartRequest();
  EXPECT_EQ(HttpExchange(port_, "GET", "/ready").status(), 503);
  EXPECT_EQ(HttpExchange(port_, "GET", "/health").status(), 200);
  EXPECT_EQ(HttpExchange(port_, "POST", "/v1/completions", kBody).status(), 503);
  door_.Open();
  const HttpExchange answer = answer_.get();
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(nlohmann::json::parse(answer.body())["usage"]["completion_tokens"], 20);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppDrainTest, WhatOutlastsTheTimeoutIsCutOffAndLogged) {
  config_.shutdown_timeout = 0;
  StartRequest();
  sink_->WaitForLine("--shutdown_timeout is over");
  door_.Open();
  EXPECT_EQ(answer_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(AppDrainTest, ASecondSignalCutsRequestsOff) {
  config_.shutdown_timeout = 3600;
  StartRequest();
  kill(getpid(), SIGINT);
  sink_->WaitForLine("second signal");
  door_.Open();
  EXPECT_EQ(answer_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

}  // namespace
}  // namespace affine
