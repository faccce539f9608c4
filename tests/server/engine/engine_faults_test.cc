#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <numeric>
#include <stdexcept>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using testing::HasSubstr;

class EngineFaultsTest : public EngineFixture {
 protected:
  EngineFaultsTest() { Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 4}); }
  static ErrorCause CauseOf(const Trial& trial) {
    return trial.sink->finish().value().error.value().cause;
  }
};

TEST_F(EngineFaultsTest, AStepThatThrowsEndsItsSequencesAndTheEngineGoesOn) {
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 6; ++i) trials.push_back(Submit({i, i + 1, i + 2}, 8));
  Round();
  model_->before_step = [](const StepBatch&) { throw std::runtime_error("out of memory"); };
  Round();
  model_->before_step = nullptr;
  EXPECT_EQ(engine_->load().blocks_used, 0);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(trials[i].sink->finish());
    EXPECT_EQ(CauseOf(trials[i]), ErrorCause::kInternal);
    EXPECT_THAT(trials[i].sink->finish()->error->message, HasSubstr("out of memory"));
    EXPECT_EQ(trials[i].sink->finish()->output_tokens, 1);
  }
  RunAll();
  for (int i = 4; i < 6; ++i) ExpectWhole(trials[i]);
}

TEST_F(EngineFaultsTest, NothingOfAFailedStepIsFoundAgain) {
  model_->before_step = [](const StepBatch&) { throw std::bad_alloc(); };
  Submit({1, 2, 3, 4, 5, 6, 7, 8, 9}, 8);
  Round();
  model_->before_step = nullptr;
  const Trial again = Submit({1, 2, 3, 4, 5, 6, 7, 8, 9}, 8);
  RunAll();
  ExpectWhole(again);
  EXPECT_EQ(again.sink->finish()->cached_tokens, 0);
}

TEST_F(EngineFaultsTest, NonFiniteLogitsEndThatSequenceAloneBeforeItsTokenIsTold) {
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 3; ++i) trials.push_back(Submit({10 * i, 10 * i + 1}, 6));
  Round();
  const int32_t sampled = trials[1].sink->tokens().at(0).id;
  for (int i : {0, 2}) ASSERT_NE(trials[i].sink->tokens().at(0).id, sampled);
  model_->Poison(sampled);
  Round();
  model_->Heal();
  ASSERT_TRUE(trials[1].sink->finish());
  EXPECT_EQ(CauseOf(trials[1]), ErrorCause::kNonFinite);
  EXPECT_EQ(trials[1].sink->tokens().size(), 1u);
  RunAll();
  ExpectWhole(trials[0]);
  ExpectWhole(trials[2]);
}

TEST_F(EngineFaultsTest, BlocksOfANonFiniteStepAreNeverFoundAgain) {
  std::vector<int32_t> prompt(40);
  std::iota(prompt.begin(), prompt.end(), 0);
  model_->Poison(35);  // in the second chunk of 32
  const Trial poisoned = Submit(prompt, 4);
  RunAll();
  EXPECT_EQ(CauseOf(poisoned), ErrorCause::kNonFinite);
  model_->Heal();
  const Trial again = Submit(prompt, 4);
  RunAll();
  ExpectWhole(again);
  EXPECT_EQ(again.sink->finish()->cached_tokens, 32);
}

// A model that answers fewer slices than it was asked, or leaves out a sample or scores.
class CarelessModel final : public LanguageModel {
 public:
  enum class Fault { kTooFew, kNoSample, kNoScores };
  CarelessModel(LanguageModel& model, Fault fault) : model_(model), fault_(fault) {}
  const ModelInfo& info() const override { return model_.info(); }
  std::span<const SliceResult> Step(const StepBatch& batch) override {
    const auto results = model_.Step(batch);
    results_.assign(results.begin(), results.end());
    if (fault_ == Fault::kTooFew) results_.pop_back();
    if (fault_ == Fault::kNoSample) results_.back().sampled.clear();
    if (fault_ == Fault::kNoScores) results_.back().scored.clear();
    return results_;
  }
  double observation_seconds() const override { return model_.observation_seconds(); }

 private:
  LanguageModel& model_;
  const Fault fault_;
  std::vector<SliceResult> results_;
};

TEST_F(EngineFaultsTest, AnIncompleteAnswerOfTheModelIsAnInternalError) {
  for (const auto fault : {CarelessModel::Fault::kTooFew, CarelessModel::Fault::kNoSample,
                           CarelessModel::Fault::kNoScores}) {
    CarelessModel careless(*model_, fault);
    Engine engine(careless, {.max_num_batched_tokens = 8, .max_num_seqs = 4}, clock_, observer_);
    Trial trial = MakeTrial({1, 2, 3}, 4);
    trial.request.sampling.prompt_top_log_probs = 0;
    ASSERT_TRUE(std::holds_alternative<RequestHandle>(engine.Submit(trial.request)));
    engine.RunOnce();
    ASSERT_TRUE(trial.sink->finish());
    EXPECT_EQ(CauseOf(trial), ErrorCause::kInternal);
    EXPECT_EQ(engine.load().blocks_used, 0);
  }
}

}  // namespace
}  // namespace affine
