#include "server/scheduler/step_time_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace affine {
namespace {

StepWork Decodes(int32_t sequences, int32_t context) {
  StepWork work;
  for (int32_t i = 0; i < sequences; ++i) work.AddDecode(context, 1);
  return work;
}

StepWork Prefill(int32_t start, int32_t count, StepWork beside = {}) {
  beside.AddPrefill(start, count);
  return beside;
}

// A machine with costs that the model is to find out.
struct Machine {
  double step = 6e-3, decode_token = 4e-4, decode_key = 2e-7, prefill_token = 3e-4,
         prefill_key = 2e-7;
  double Seconds(const StepWork& work) const {
    return step + decode_token * static_cast<double>(work.decode_tokens) +
           decode_key * static_cast<double>(work.decode_keys) +
           prefill_token * static_cast<double>(work.prefill_tokens) +
           prefill_key * static_cast<double>(work.prefill_keys);
  }
};

// Steps as a server has them: decodes of any number, half of them beside a long prompt's chunks.
class Traffic {
 public:
  explicit Traffic(uint32_t seed) : random_(seed) {}
  StepWork Next() {
    const StepWork decodes = Decodes(static_cast<int32_t>(random_() % 32), 100);
    if (random_() % 2 == 0) return decodes;
    const auto count = static_cast<int32_t>(16 + random_() % 1024);
    start_ = (start_ + count) % 8192;
    return Prefill(start_, count, decodes);
  }
  double Noise(double most) {
    return std::uniform_real_distribution<double>(1.0 - most, 1.0 + most)(random_);
  }

 private:
  std::mt19937 random_;
  int32_t start_ = 0;
};

StepTimeModel Taught(const Machine& machine, int steps) {
  StepTimeModel model;
  Traffic traffic(1);
  for (int i = 0; i < steps; ++i) {
    const StepWork work = traffic.Next();
    model.Learn(work, machine.Seconds(work) * traffic.Noise(0.2));
  }
  return model;
}

double Ratio(const StepTimeModel& model, const Machine& machine, const StepWork& work) {
  return model.Seconds(work) / machine.Seconds(work);
}

TEST(StepWorkTest, CountsTheKeysThatEachTokenAttendsTo) {
  StepWork work;
  work.AddDecode(100, 1);
  work.AddDecode(10, 2);
  work.AddPrefill(100, 3);
  EXPECT_EQ(work.decode_tokens, 3);
  EXPECT_EQ(work.decode_keys, 101 + 11 + 12);
  EXPECT_EQ(work.prefill_tokens, 3);
  EXPECT_EQ(work.prefill_keys, 101 + 102 + 103);
}

TEST(StepTimeModelTest, BeforeAnyStepItExpectsASlowMachine) {
  const StepTimeModel model;
  for (const StepWork& work : {Decodes(1, 100), Decodes(32, 4000), Prefill(0, 512),
                               Prefill(8000, 16), Prefill(0, 64, Decodes(8, 100))}) {
    EXPECT_GT(Ratio(model, Machine(), work), 2.0);
    EXPECT_LT(Ratio(model, Machine(), work), 6.0);
  }
}

TEST(StepTimeModelTest, LearnsWhatEachKindOfStepCosts) {
  const Machine machine;
  const StepTimeModel model = Taught(machine, 300);
  for (const StepWork& work :
       {Decodes(1, 100), Decodes(8, 100), Decodes(31, 100), Prefill(0, 256), Prefill(0, 1024),
        Prefill(7000, 512), Prefill(4000, 128, Decodes(16, 100))}) {
    EXPECT_NEAR(Ratio(model, machine, work), 1.0, 0.2) << work.prefill_tokens;
  }
}

TEST(StepTimeModelTest, OneStepTeachesItAMachineTenTimesAsSlow) {
  Machine slow;
  slow.prefill_token = 2e-2;
  StepTimeModel model;
  const StepWork prompt = Prefill(0, 512);
  EXPECT_LT(Ratio(model, slow, prompt), 0.2);
  model.Learn(prompt, slow.Seconds(prompt));
  EXPECT_GT(Ratio(model, slow, prompt), 0.8);
}

TEST(StepTimeModelTest, FollowsAMachineThatBecomesSlower) {
  Machine machine;
  StepTimeModel model = Taught(machine, 300);
  for (double* cost : {&machine.step, &machine.decode_token, &machine.prefill_token}) *cost *= 3.0;
  const StepWork work = Prefill(0, 512, Decodes(4, 100));
  for (int i = 0; i < 12; ++i) model.Learn(work, machine.Seconds(work));
  EXPECT_NEAR(Ratio(model, machine, work), 1.0, 0.15);
}

TEST(StepTimeModelTest, AnHourOfDecodesLeavesWhatPrefillCosts) {
  const Machine machine;
  StepTimeModel model = Taught(machine, 300);
  Traffic traffic(2);
  for (int i = 0; i < 100000; ++i) {
    const StepWork work = Decodes(8, 100 + i % 500);
    model.Learn(work, machine.Seconds(work) * traffic.Noise(0.3));
  }
  EXPECT_NEAR(Ratio(model, machine, Prefill(1000, 512, Decodes(8, 100))), 1.0, 0.2);
}

TEST(StepTimeModelTest, OneOutlierHasBoundedWeight) {
  const StepTimeModel model = Taught(Machine(), 300);
  const StepWork work = Prefill(1000, 512, Decodes(8, 100));
  for (const double factor : {1e-3, 1e-1, 1e1, 1e3, 1e100}) {
    StepTimeModel hit = model;
    hit.Learn(work, Machine().Seconds(work) * factor);
    EXPECT_GT(hit.Seconds(work) / model.Seconds(work), 0.75) << factor;
    EXPECT_LT(hit.Seconds(work) / model.Seconds(work), 1.33) << factor;
  }
}

TEST(StepTimeModelTest, TimesThatAreNoneAreIgnored) {
  StepTimeModel model;
  const StepWork work = Prefill(0, 100, Decodes(2, 10));
  const double before = model.Seconds(work);
  for (const double seconds :
       {0.0, -1.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    model.Learn(work, seconds);
    EXPECT_EQ(model.Seconds(work), before) << seconds;
  }
}

TEST(StepTimeModelTest, StaysPositiveAndFiniteWhateverTheTimes) {
  std::mt19937 random(3);
  StepTimeModel model;
  Traffic traffic(4);
  for (int i = 0; i < 20000; ++i) {
    const int exponent = i % 4000 < 2000 ? 300 : -300;
    model.Learn(i % 7 == 0 ? StepWork{} : traffic.Next(),
                std::ldexp(1.0, exponent + static_cast<int>(random() % 100)));
    for (const StepWork& work : {StepWork{}, Decodes(256, 16'777'216), Prefill(8000, 2048)}) {
      ASSERT_GT(model.Seconds(work), 0.0);
      ASSERT_TRUE(std::isfinite(model.Seconds(work)));
    }
    ASSERT_GE(model.PrefillWithin(0.2, 1000), 0);
  }
}

TEST(StepTimeModelTest, FindsTheLongestChunkThatFits) {
  for (const StepTimeModel& model : {StepTimeModel(), Taught(Machine(), 300)}) {
    for (const int32_t start : {0, 1, 1000, 8000, 1'000'000}) {
      for (const double seconds : {1e-6, 1e-3, 0.1, 0.2, 1.0}) {
        int32_t longest = 0;  // by trying
        while (model.PrefillSeconds(start, longest + 1) <= seconds) ++longest;
        EXPECT_NEAR(model.PrefillWithin(seconds, start), longest, 1) << start << ", " << seconds;
      }
    }
  }
}

TEST(StepTimeModelTest, ChunksLaterInAPromptAreShorter) {
  const StepTimeModel model = Taught(Machine(), 300);
  EXPECT_GT(model.PrefillWithin(0.2, 0), model.PrefillWithin(0.2, 4000));
  EXPECT_GT(model.PrefillWithin(0.2, 4000), model.PrefillWithin(0.2, 8000));
}

TEST(StepTimeModelTest, WithoutTimeNothingFitsAndWithoutEndEverything) {
  const StepTimeModel model;
  EXPECT_EQ(model.PrefillWithin(0.0, 0), 0);
  EXPECT_EQ(model.PrefillWithin(-1.0, 0), 0);
  EXPECT_EQ(model.PrefillWithin(std::numeric_limits<double>::quiet_NaN(), 0), 0);
  EXPECT_EQ(model.PrefillWithin(std::numeric_limits<double>::infinity(), 0),
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(model.PrefillWithin(1e300, 0), std::numeric_limits<int32_t>::max());
}

}  // namespace
}  // namespace affine
