#include "server/telemetry/request_log.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class RequestLogTest : public testing::Test {
 protected:
  nlohmann::json OnlyLine() {
    log_.Close();
    EXPECT_EQ(sink_->lines().size(), 1u);
    return nlohmann::json::parse(sink_->lines().at(0));
  }
  static RequestFinish Finish() {
    RequestFinish finish;
    finish.reason = FinishReason::kLength;
    finish.prompt_tokens = 20;
    finish.cached_tokens = 16;
    finish.output_tokens = 5;
    finish.arrival = Clock::Time(milliseconds(500));
    finish.first_scheduled = finish.arrival + microseconds(1500);
    finish.first_token = finish.arrival + milliseconds(30);
    finish.finished = finish.arrival + milliseconds(70);
    return finish;
  }

  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
  RequestLog requests_{log_, "smol"};
  RefusalLog refusals_{log_};
};

TEST_F(RequestLogTest, AFinishedRequestIsOneLineWithItsCountsAndTimes) {
  Request request;
  request.id = "req-1";
  request.prompt = {424242, 535353};
  requests_.OnFinish(request, Finish());
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["message"], "request finished");
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["request_id"], "req-1");
  EXPECT_EQ(line["model"], "smol");
  EXPECT_EQ(line["prompt_tokens"], 20);
  EXPECT_EQ(line["cached_tokens"], 16);
  EXPECT_EQ(line["output_tokens"], 5);
  EXPECT_EQ(line["queue_ms"], 1.5);
  EXPECT_EQ(line["ttft_ms"], 30.0);
  EXPECT_EQ(line["duration_ms"], 70.0);
  EXPECT_EQ(line["finish_reason"], "length");
  EXPECT_EQ(line["code"], "OK");
  EXPECT_EQ(line.dump().find("424242"), std::string::npos) << "prompts are never logged";
}

TEST_F(RequestLogTest, AStreamsFirstTokenCountsWhenItWasWritten) {
  RequestFinish finish = Finish();
  finish.first_write = *finish.first_token + milliseconds(4);
  requests_.OnFinish({}, finish);
  EXPECT_EQ(OnlyLine()["ttft_ms"], 34.0);
}

TEST_F(RequestLogTest, NothingThatTheCallerWroteIsShown) {
  RequestError error{ErrorCause::kBadInput, "`prompt` is \"my secret\"", "prompt"};
  error.log_message = "`prompt` is a string of 9 bytes";
  refusals_.Write("id", error);
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["error"], "`prompt` is a string of 9 bytes");
  EXPECT_EQ(line["param"], "prompt");
  EXPECT_EQ(line["cause"], "bad_input");
  EXPECT_EQ(line.dump().find("secret"), std::string::npos);
}

TEST_F(RequestLogTest, AFailedRequestNamesItsCode) {
  RequestFinish finish = Finish();
  finish.reason = FinishReason::kError;
  finish.error = RequestError{ErrorCause::kNonFinite, "logits held NaN", ""};
  finish.first_token.reset();
  requests_.OnFinish({}, finish);
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["finish_reason"], "error");
  EXPECT_EQ(line["code"], "INTERNAL");
  EXPECT_EQ(line["cause"], "non_finite_logits");
  EXPECT_EQ(line["error"], "logits held NaN");
  EXPECT_FALSE(line.contains("ttft_ms"));
}

TEST_F(RequestLogTest, ARefusedRequestSaysWhyWhateverItsId) {
  const std::string hostile = "x\"}\n{\"level\":\"info\",\"request_id\":\"\xc3\x28";
  refusals_.Write(hostile, {ErrorCause::kBadInput, "top_p is 2", "top_p"});
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["message"], "request refused");
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(line["param"], "top_p");
  EXPECT_EQ(line["request_id"].get<std::string>().substr(0, 4), hostile.substr(0, 4));
}

TEST_F(RequestLogTest, AnUnstableRequestIsNamedWithItsLimitAndThePlace) {
  Request request;
  request.id = "req-1";
  LimitBreach breach{StabilityLimit::kLargestScore, 3, 1, 91.5, 80};
  requests_.OnUnstable(request, breach);
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["message"], "attention unstable");
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["request_id"], "req-1");
  EXPECT_EQ(line["model"], "smol");
  EXPECT_EQ(line["limit"], "largest_score");
  EXPECT_EQ(line["value"], 91.5);
  EXPECT_EQ(line["bound"], 80);
  EXPECT_EQ(line["layer"], 3);
  EXPECT_EQ(line["head"], 1);
}

TEST_F(RequestLogTest, AnAnswerThatEndsForItsAttentionSaysSo) {
  RequestFinish finish = Finish();
  finish.reason = FinishReason::kUnstable;
  requests_.OnFinish({}, finish);
  const nlohmann::json line = OnlyLine();
  EXPECT_EQ(line["finish_reason"], "unstable");
  EXPECT_EQ(line["code"], "OK");
}

TEST_F(RequestLogTest, WhatIsNotFiniteHasNoLineBesideThatOfItsEnd) {
  requests_.OnUnstable({}, LimitBreach{});
  log_.Close();
  EXPECT_TRUE(sink_->lines().empty());
}

TEST_F(RequestLogTest, StepsAndTokensLeaveNoLine) {
  requests_.OnStep({});
  requests_.OnInterTokenGap(milliseconds(1));
  log_.Close();
  EXPECT_TRUE(sink_->lines().empty());
}

}  // namespace
}  // namespace affine
