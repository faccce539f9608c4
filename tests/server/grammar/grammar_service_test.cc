#include "server/grammar/grammar_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/support/fake_grammar.h"

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

/// Compiles what a test lets through, and refuses "bad".
class GatedCompiler final : public GrammarCompiler {
 public:
  struct Log {
    std::promise<void> begun;  // the first compilation
    std::promise<void> gate;   // lets it go on
    std::vector<std::string> texts;
  };
  explicit GatedCompiler(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  GrammarResult Compile(const StructuredOutput& form, std::chrono::milliseconds) override {
    log_->texts.push_back(form.text);
    if (log_->texts.size() == 1) {
      log_->begun.set_value();
      log_->gate.get_future().wait();
    }
    if (form.text == "bad") return RequestError{ErrorCause::kBadInput, "no grammar", form.field};
    return std::make_shared<FakeGrammar>(FakeGrammarOptions{.steps = {}, .bytes = 1});
  }

 private:
  const std::shared_ptr<Log> log_;
};

class GrammarServiceTest : public testing::Test {
 protected:
  void Use(const GrammarOptions& options) {
    service_ = std::make_unique<GrammarService>(std::make_unique<GatedCompiler>(log_), options);
  }
  /// What is known at once, or what comes later.
  std::future<GrammarResult> Ask(const std::string& text) {
    auto promise = std::make_shared<std::promise<GrammarResult>>();
    auto later = promise->get_future();
    auto known = service_->Get({Kind::kRegex, text, {}, "f"},
                               [promise](GrammarResult result) { promise->set_value(result); });
    if (known) promise->set_value(*known);
    return later;
  }
  static bool IsThere(const std::future<GrammarResult>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  static RequestError ErrorOf(std::future<GrammarResult> future) {
    return std::get<RequestError>(future.get());
  }

  std::shared_ptr<GatedCompiler::Log> log_ = std::make_shared<GatedCompiler::Log>();
  std::unique_ptr<GrammarService> service_;
};

TEST_F(GrammarServiceTest, CompilesOnceForAllWhoAskAndKnowsItThen) {
  Use({});
  auto first = Ask("a"), second = Ask("a");
  log_->begun.get_future().wait();
  auto third = Ask("a");
  EXPECT_FALSE(IsThere(first) || IsThere(second) || IsThere(third));
  log_->gate.set_value();
  const auto grammar = std::get<0>(first.get());
  EXPECT_EQ(std::get<0>(second.get()), grammar);
  EXPECT_EQ(std::get<0>(third.get()), grammar);
  auto known = Ask("a");
  ASSERT_TRUE(IsThere(known));
  EXPECT_EQ(std::get<0>(known.get()), grammar);
  EXPECT_THAT(log_->texts, ElementsAre("a"));
}

TEST_F(GrammarServiceTest, WhatIsRefusedIsNotRemembered) {
  Use({});
  log_->gate.set_value();
  EXPECT_EQ(ErrorOf(Ask("bad")).message, "no grammar");
  EXPECT_EQ(ErrorOf(Ask("bad")).message, "no grammar");
  EXPECT_THAT(log_->texts, ElementsAre("bad", "bad"));
}

TEST_F(GrammarServiceTest, AFormBeyondTheLimitsIsRefusedAtOnce) {
  Use({.limits = {.max_bytes = 3}});
  auto refused = Ask("abcd");
  ASSERT_TRUE(IsThere(refused));
  EXPECT_THAT(ErrorOf(std::move(refused)).message, HasSubstr("4 bytes"));
}

TEST_F(GrammarServiceTest, MoreThanMayWaitAreRefusedAsFull) {
  Use({.max_queued = 2});
  auto at_hand = Ask("a");
  log_->begun.get_future().wait();
  auto b = Ask("b"), c = Ask("c"), too_many = Ask("d"), same = Ask("c");
  ASSERT_TRUE(IsThere(too_many));
  const RequestError error = ErrorOf(std::move(too_many));
  EXPECT_EQ(error.cause, ErrorCause::kFull);
  EXPECT_THAT(error.message, HasSubstr("2 other forms"));
  EXPECT_GT(error.retry_after_seconds, 0);
  log_->gate.set_value();
  EXPECT_EQ(at_hand.get().index(), 0u);
  EXPECT_EQ(b.get().index(), 0u);
  EXPECT_EQ(std::get<0>(c.get()), std::get<0>(same.get()));
  EXPECT_THAT(log_->texts, ElementsAre("a", "b", "c"));
}

TEST_F(GrammarServiceTest, TheEndTellsWhoWaits) {
  Use({});
  auto at_hand = Ask("a");
  log_->begun.get_future().wait();
  auto waiting = Ask("b");
  auto ending = std::async(std::launch::async, [this] { service_.reset(); });
  log_->gate.set_value();
  ending.get();
  EXPECT_EQ(at_hand.get().index(), 0u);
  // Whether the thread saw the end before the next form is open; both are answers.
  const GrammarResult last = waiting.get();
  if (const auto* error = std::get_if<RequestError>(&last)) {
    EXPECT_EQ(error->cause, ErrorCause::kUnavailable);
  }
}

TEST_F(GrammarServiceTest, AfterItsEndItRefusesAtOnce) {
  Use({});
  log_->gate.set_value();
  EXPECT_EQ(Ask("a").get().index(), 0u);
  service_->Stop();
  auto late = Ask("a");
  ASSERT_TRUE(IsThere(late));
  EXPECT_EQ(ErrorOf(std::move(late)).cause, ErrorCause::kUnavailable);
}

}  // namespace
}  // namespace affine
