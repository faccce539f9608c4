#include "server/app/model_hosts.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <utility>

#include "server/telemetry/telemetry.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/telemetry/line_sink.h"
#include "tests/support/fake_grammar.h"
#include "tests/support/fake_model.h"

namespace affine {
namespace {

/// Breaks the promise of sinks once, and so the engine's thread.
class ThrowingSink final : public TokenSink {
 public:
  void Push(TokenEvent) override {
    if (!std::exchange(thrown_, true)) throw std::logic_error("a sink must not throw");
  }

 private:
  bool thrown_ = false;
};

class ModelHostsTest : public testing::Test {
 protected:
  ~ModelHostsTest() override { hosts_.StopThreads(); }

  ModelHost& Host(
      const std::string& name, std::function<void()> on_failure = [] {}) {
    LoadedModel loaded;
    loaded.tokenizer = std::make_unique<ByteTokenizer>();
    loaded.model = std::make_unique<FakeModel>(FakeModelOptions{});
    loaded.grammars = std::move(grammars_);
    loaded.seconds = 1.5;
    ModelTelemetry& telemetry = telemetry_.model(name == "plain" ? 0 : 1);
    return hosts_.Add(std::make_unique<ModelHost>(name, std::move(loaded), options_,
                                                  GrammarOptions{}, clock_, telemetry,
                                                  std::move(on_failure)));
  }
  static Request OneToken(std::shared_ptr<TokenSink> sink) {
    Request request;
    request.id = "r";
    request.prompt = {1};
    request.max_tokens = 1;
    request.sink = std::move(sink);
    return request;
  }

  std::unique_ptr<GrammarCompiler> grammars_;  // of the next host
  EngineOptions options_;
  const SteadyClock clock_;
  ServerLog log_{{}, std::make_shared<LineSink>()};
  Telemetry telemetry_{log_, {"plain", "affine"}, "1.0.0", false};
  ModelHosts hosts_;
};

/// Knows one grammar.
class OneGrammar final : public GrammarCompiler {
 public:
  GrammarResult Compile(const StructuredOutput&, std::chrono::milliseconds) override {
    return std::make_shared<FakeGrammar>(FakeGrammarOptions{.steps = {{1}}});
  }
};

TEST_F(ModelHostsTest, GrammarsAreListedWithTheModelThatHasThemAndEndWithItsThreads) {
  EXPECT_EQ(Host("plain").Listing().grammars, nullptr);
  grammars_ = std::make_unique<OneGrammar>();
  ModelHost& host = Host("affine");
  GrammarSource* const source = host.Listing().grammars;
  ASSERT_NE(source, nullptr);
  std::promise<GrammarResult> told;
  const StructuredOutput form{StructuredOutput::Kind::kRegex, "a", {}, "form"};
  source->Get(form, [&](GrammarResult result) { told.set_value(std::move(result)); });
  EXPECT_EQ(told.get_future().get().index(), 0u);
  host.StopThread();
  const auto late = source->Get(form, [](GrammarResult) {});
  ASSERT_TRUE(late);
  EXPECT_EQ(std::get<RequestError>(*late).cause, ErrorCause::kUnavailable);
}

TEST_F(ModelHostsTest, AModelIsListedWithEverythingThatServesIt) {
  options_.stability_sample_every = 64;
  ModelHost& host = Host("plain");
  const ServedModel listing = host.Listing();
  EXPECT_EQ(listing.name, "plain");
  EXPECT_EQ(listing.engine, &host.engine());
  EXPECT_NE(listing.tokenizer, nullptr);
  EXPECT_GT(listing.created_unix_seconds, 0);
  ASSERT_NE(listing.stability, nullptr);
  EXPECT_EQ(listing.stability->Snapshot().layers, host.info().num_layers);
  EXPECT_EQ(host.load_seconds(), 1.5);
}

TEST_F(ModelHostsTest, WithoutSampledStepsThereIsNoStabilityToShow) {
  options_.stability_sample_every = 0;
  EXPECT_EQ(Host("plain").Listing().stability, nullptr);
}

TEST_F(ModelHostsTest, TheLoadIsThatOfAllEngines) {
  const int32_t blocks = Host("plain").info().num_blocks;
  Host("affine");
  EXPECT_EQ(hosts_.load().blocks_total, 2 * blocks);
  EXPECT_EQ(hosts_.load().running, 0);
  EXPECT_TRUE(hosts_.WaitIdle(clock_.Now()));
}

TEST_F(ModelHostsTest, ADrainClosesEveryEngine) {
  Host("plain");
  Host("affine");
  hosts_.Drain();
  for (const auto& host : hosts_.all()) {
    auto answer = host->engine().Submit(OneToken(std::make_shared<ThrowingSink>()));
    EXPECT_EQ(std::get<RequestError>(answer).cause, ErrorCause::kUnavailable) << host->name();
  }
}

TEST_F(ModelHostsTest, AnEngineThatFailsIsNamed) {
  std::promise<void> failed;
  Host("plain");
  ModelHost& broken = Host("affine", [&failed] { failed.set_value(); });
  EXPECT_FALSE(hosts_.Failure());
  broken.engine().Submit(OneToken(std::make_shared<ThrowingSink>()));
  failed.get_future().wait();
  const auto failure = hosts_.Failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, ExitCode::kBroken);
  EXPECT_EQ(failure->cause, "the engine of the model 'affine' stopped: a sink must not throw");
}

}  // namespace
}  // namespace affine
