#include "server/app/farewell.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/server/telemetry/line_sink.h"
#include "tests/support/temp_folder.h"

namespace affine {
namespace {

/// What SayFarewell leaves on stderr.
std::string StderrOf(const Outcome& outcome, const std::string& termination_log, int* code) {
  testing::internal::CaptureStderr();
  *code = SayFarewell(outcome, termination_log);
  return testing::internal::GetCapturedStderr();
}

TEST(FarewellTest, TheCauseIsTheLastLineAndInTheTerminationLog) {
  const TempFolder folder;
  const std::string log = folder.Write("termination-log", "");
  int code = 0;
  EXPECT_EQ(StderrOf({ExitCode::kConfig, "the model is broken"}, log, &code),
            "affine_server: the model is broken\n");
  EXPECT_EQ(code, 78);
  EXPECT_EQ(folder.Read("termination-log"), "the model is broken");
}

TEST(FarewellTest, TheTerminationLogHoldsAtMost4096Bytes) {
  const TempFolder folder;
  const std::string log = folder.Write("termination-log", "");
  int code = 0;
  StderrOf({ExitCode::kFailure, std::string(10000, 'x')}, log, &code);
  EXPECT_EQ(folder.Read("termination-log").size(), 4096u);
}

TEST(FarewellTest, ATerminationLogIsNeverCreated) {
  const TempFolder folder;
  int code = 0;
  StderrOf({ExitCode::kUsage, "why"}, folder.path() + "/termination-log", &code);
  EXPECT_EQ(code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/termination-log"));
}

TEST(FarewellTest, SuccessSaysNothing) {
  int code = 1;
  EXPECT_EQ(StderrOf({}, "/nonexistent", &code), "");
  EXPECT_EQ(code, 0);
}

TEST(FarewellDeathTest, AProcessThatCanNotWaitForItsThreadsEndsAtOnceWithItsCause) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::thread waits_forever([] {
          std::promise<void> never;
          never.get_future().wait();
        });
        ServerLog log({}, std::make_shared<LineSink>());
        EndNow(log, {ExitCode::kBroken, "the engine stopped"});
      },
      testing::ExitedWithCode(70), "affine_server: the engine stopped");
}

TEST(FarewellDeathTest, AnUncaughtExceptionOnAnyThreadEndsWithItsText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        InstallFarewellForUncaught();
        std::thread([] { throw std::runtime_error("block 7 is free twice"); }).join();
      },
      testing::ExitedWithCode(70), "affine_server: internal error: block 7 is free twice");
}

}  // namespace
}  // namespace affine
