#include <atomic>
#include <map>

#include "model/model_error.h"
#include "tests/server/app/app_fixture.h"
#include "tests/server/telemetry/exposition.h"

namespace affine {
namespace {

/// Two models side by side, from the folders /a and /b.
class SeveralModelsTest : public AppTest {
 protected:
  SeveralModelsTest() { choices_ = {{"plain", "/a", 0.75}, {"affine", "/b", 0.25}}; }

  Exposition Scrape() { return Exposition(HttpExchange(Port(), "GET", "/metrics").body()); }
  /// Waits for a series to reach `value`: a step is counted after its answers are out.
  void Await(const std::string& series, double value) {
    while (Scrape().Value(series) < value) {
    }
  }
  static std::string ModelOf(const HttpExchange& answer) {
    return nlohmann::json::parse(answer.body())["model"];
  }
};

TEST_F(SeveralModelsTest, ARequestReachesTheModelThatItNamesAndTheFirstWithoutAName) {
  std::atomic<int> of_a = 0, of_b = 0;
  before_step_ = [&](const std::string& folder, const StepBatch&) {
    ++(folder == "/a" ? of_a : of_b);
  };
  Start();
  AwaitReady();
  EXPECT_EQ(ModelOf(Post("affine").get()), "affine");
  EXPECT_EQ(of_a, 0);
  const int before = of_b;
  EXPECT_GT(before, 0);
  EXPECT_EQ(ModelOf(Post("plain").get()), "plain");
  EXPECT_EQ(ModelOf(Post("").get()), "plain");
  EXPECT_EQ(of_b, before);
  EXPECT_EQ(Post("other").get().status(), 404);
  EXPECT_EQ(Stop().code, ExitCode::kDone);
}

TEST_F(SeveralModelsTest, MetricsAndLogLinesAreEachModelsOwn) {
  Start();
  AwaitReady();
  Post("affine").get();
  Post("affine").get();
  Post("plain").get();
  Await("affine_generation_tokens_total{model_name=\"affine\"}", 40);
  Await("affine_generation_tokens_total{model_name=\"plain\"}", 20);
  const Exposition page = Scrape();
  EXPECT_EQ(page.Value("affine_generation_tokens_total{model_name=\"affine\"}"), 40);
  EXPECT_EQ(page.Value("affine_generation_tokens_total{model_name=\"plain\"}"), 20);
  EXPECT_EQ(page.SeriesOf("affine_model_info").size(), 2u);
  EXPECT_EQ(page.SeriesOf("affine_build_info").size(), 1u);
  Stop();
  log_.Close();
  int of_affine = 0;
  for (const std::string& line : sink_->lines()) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event["message"] == "request finished" && event["model"] == "affine") ++of_affine;
  }
  EXPECT_EQ(of_affine, 2);
}

TEST_F(SeveralModelsTest, TheyShareCacheAndThreads) {
  config_.kv_cache_gib = 1;
  config_.threads = 5;
  std::vector<LoadOptions> seen;
  before_load_ = [&seen](const LoadOptions& options) { seen.push_back(options); };
  Start();
  AwaitReady();
  Stop();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kv_cache_bytes, 3 << 28);
  EXPECT_EQ(seen[1].kv_cache_bytes, 1 << 28);
  EXPECT_EQ(seen[0].num_threads, 2);
  EXPECT_EQ(seen[1].num_threads, 2);
}

TEST_F(SeveralModelsTest, TheyLoadInOrderAndEachServesOnceItIsThere) {
  Door door;
  before_load_ = [&door](const LoadOptions& options) {
    if (options.path == "/b") door.Pass();
  };
  Start();
  door.AwaitSomeone();
  EXPECT_EQ(HttpExchange(Port(), "GET", "/ready").status(), 503);
  EXPECT_EQ(ModelOf(Post("plain").get()), "plain");
  const HttpExchange early = Post("affine").get();
  EXPECT_EQ(early.status(), 503);
  EXPECT_NE(early.body().find("`affine` is still loading"), std::string::npos) << early.body();
  door.Open();
  AwaitReady();
  EXPECT_EQ(HttpExchange(Port(), "GET", "/ready").status(), 200);
  EXPECT_EQ(ModelOf(Post("affine").get()), "affine");
  Stop();
  EXPECT_NE(out_.str().find("serves 2 models on"), std::string::npos) << out_.str();
  log_.Close();
  std::vector<std::string> loading;
  for (const std::string& line : sink_->lines()) {
    const nlohmann::json event = nlohmann::json::parse(line);
    const std::string message = event["message"];
    if (message == "loading the model")
      loading.push_back("begun " + event["model"].get<std::string>());
    if (message == "the model is loaded")
      loading.push_back("ended " + event["model"].get<std::string>());
    if (message == "ready") loading.push_back(event["models"].dump());
  }
  EXPECT_EQ(loading, (std::vector<std::string>{"begun plain", "ended plain", "begun affine",
                                               "ended affine", R"(["plain","affine"])"}));
}

TEST_F(SeveralModelsTest, AModelThatCanNotBeLoadedIsNamed) {
  before_load_ = [](const LoadOptions& options) {
    if (options.path == "/b") throw ModelError("config.json: no vocab_size");
  };
  Start();
  const Outcome outcome = running_.get();
  EXPECT_EQ(outcome.code, ExitCode::kConfig);
  EXPECT_EQ(outcome.cause, "the model 'affine': config.json: no vocab_size");
}

TEST_F(SeveralModelsTest, ASignalWhileTheSecondLoadsLetsRequestsOfTheFirstFinish) {
  Door loading, stepping;
  before_load_ = [&loading](const LoadOptions& options) {
    if (options.path != "/b") return;
    loading.Pass();
    options.progress(0.5);
    ADD_FAILURE() << "went on loading";
  };
  before_step_ = [&stepping](const std::string&, const StepBatch&) { stepping.Pass(); };
  Start();
  loading.AwaitSomeone();
  auto answer = Post("plain");
  stepping.AwaitSomeone();
  kill(getpid(), SIGTERM);
  sink_->WaitForLine("stopping before the model is loaded");
  EXPECT_EQ(Post("plain").get().status(), 503);
  loading.Open();
  sink_->WaitForLine("\"draining\"");
  stepping.Open();
  EXPECT_EQ(answer.get().status(), 200);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

/// A request of each model that stands inside its first step until the test opens the doors.
class SeveralModelsDrainTest : public SeveralModelsTest {
 protected:
  void StartRequests() {
    before_step_ = [this](const std::string& folder, const StepBatch&) { doors_[folder].Pass(); };
    Start();
    AwaitReady();
    plain_ = Post("plain");
    affine_ = Post("affine");
    for (auto& [folder, door] : doors_) door.AwaitSomeone();
    kill(getpid(), SIGTERM);
    const std::string line = sink_->WaitForLine("\"draining\"");
    EXPECT_EQ(nlohmann::json::parse(line)["running"].get<int>(), 2) << line;
  }
  void OpenDoors() {
    for (auto& [folder, door] : doors_) door.Open();
  }

  std::map<std::string, Door> doors_ = MakeDoors();
  std::future<HttpExchange> plain_, affine_;

 private:
  static std::map<std::string, Door> MakeDoors() {
    std::map<std::string, Door> doors;
    doors["/a"];
    doors["/b"];
    return doors;
  }
};

TEST_F(SeveralModelsDrainTest, RequestsOfBothFinish) {
  StartRequests();
  EXPECT_EQ(Post("affine").get().status(), 503);
  OpenDoors();
  EXPECT_EQ(plain_.get().status(), 200);
  EXPECT_EQ(affine_.get().status(), 200);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(SeveralModelsDrainTest, BothAreCutOffAtOneDeadline) {
  config_.shutdown_timeout = 0;
  StartRequests();
  sink_->WaitForLine("--shutdown_timeout is over");
  OpenDoors();
  EXPECT_EQ(plain_.get().status(), 503);
  EXPECT_EQ(affine_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

TEST_F(SeveralModelsDrainTest, ASecondSignalCutsBothOff) {
  config_.shutdown_timeout = 3600;
  StartRequests();
  kill(getpid(), SIGINT);
  sink_->WaitForLine("second signal");
  OpenDoors();
  EXPECT_EQ(plain_.get().status(), 503);
  EXPECT_EQ(affine_.get().status(), 503);
  EXPECT_EQ(running_.get().code, ExitCode::kDone);
}

}  // namespace
}  // namespace affine
