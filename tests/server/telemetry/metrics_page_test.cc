#include "server/telemetry/metrics_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "server/telemetry/telemetry.h"
#include "tests/server/telemetry/exposition.h"
#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

struct Verdict {
  int exit_code = 0;
  std::string complaints;
};

/// What `promtool check metrics` says of `page`.
Verdict CheckMetrics(const std::string& page) {
  const std::string path = testing::TempDir() + "page-" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << page;
  FILE* pipe = popen((std::string(PROMTOOL) + " check metrics < '" + path + "' 2>&1").c_str(), "r");
  Verdict verdict;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    verdict.complaints.append(buffer, count);
  }
  verdict.exit_code = WEXITSTATUS(pclose(pipe));
  std::remove(path.c_str());
  return verdict;
}

class IdleEngine final : public CompletionEngine {
 public:
  IdleEngine() {
    info_.architecture = "LlamaForCausalLM";
    info_.dtype = "bfloat16";
    info_.weights = "int8";
    info_.device = "cpu";
    info_.attention.affine = AffineScale{};
    info_.block_size = 16;
    info_.num_blocks = 64;
  }
  const ModelInfo& info() const override { return info_; }
  std::variant<std::vector<RequestHandle>, RequestError> SubmitAll(
      std::vector<Request> requests) override {
    return RequestError{};
  }
  void Cancel(RequestHandle handle, std::optional<RequestError> error) override {}
  EngineLoad load() const override { return {0, 0, 0, 64}; }

 private:
  ModelInfo info_;
};

/// A name that needs escaping in a label.
constexpr char kName[] = "smol \"q\\4\"";

/// The whole page of a server that has done a little of everything.
std::string BusyPage(bool aliases, const std::vector<std::string>& names = {kName}) {
  ServerLog log({}, std::make_shared<LineSink>());
  Telemetry telemetry(log, names, "1.2.3", aliases);
  const IdleEngine engine;
  for (size_t i = 0; i < names.size(); ++i) {
    ModelTelemetry& model = telemetry.model(i);
    model.ModelReady(engine, true);
    StepReport report;
    report.prefill_tokens = 5;
    report.duration = std::chrono::milliseconds(3);
    model.observer().OnStep(report);
    model.observer().OnInterTokenGap(std::chrono::milliseconds(7));
    model.observer().OnFinish({}, {});
    model.observer().OnUnstable({}, {});
  }
  telemetry.edge().OnRefused("id", {ErrorCause::kFull, "full", ""});
  return telemetry.RenderMetrics();
}

TEST(MetricsPageTest, PromtoolFindsNothingToSayWhateverTheNumberOfModels) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{kName}, std::vector<std::string>{"a", "b"}}) {
    const Verdict verdict = CheckMetrics(BusyPage(false, names));
    EXPECT_EQ(verdict.exit_code, 0);
    EXPECT_EQ(verdict.complaints, "");
  }
}

// A colon is for recording rules, promtool says of every name that vLLM has, and of nothing else.
TEST(MetricsPageTest, PromtoolSaysOfTheAliasesOnlyThatVllmUsesColons) {
  const Verdict verdict = CheckMetrics(BusyPage(true));
  std::istringstream lines(verdict.complaints);
  int complaints = 0;
  for (std::string line; std::getline(lines, line); ++complaints) {
    EXPECT_EQ(line.rfind("vllm:", 0), 0u) << line;
    EXPECT_NE(line.find("should not contain ':'"), std::string::npos) << line;
  }
  EXPECT_GT(complaints, 0);
}

TEST(MetricsPageTest, NamesTheBuildAndTheModel) {
  const Exposition page(BusyPage(false));
  EXPECT_EQ(page.Value("affine_build_info{version=\"1.2.3\"}"), 1);
  const auto models = page.SeriesOf("affine_model_info");
  ASSERT_EQ(models.size(), 1u);
  for (const char* label :
       {"architecture=\"LlamaForCausalLM\"", "dtype=\"bfloat16\"", "weights=\"int8\"",
        "device=\"cpu\"", "denominator=\"softmax\"", "alpha_activation=\"linear_clipping\"",
        "normalizer=\"visible\"", "gate=\"none\"", "model_name=\"smol \\\"q\\\\4\\\"\""}) {
    EXPECT_NE(models[0].find(label), std::string::npos) << label << " in " << models[0];
  }
}

TEST(MetricsPageTest, ShowsProcessAndLogToo) {
  const Exposition page(BusyPage(true));
  EXPECT_GT(page.Value("process_resident_memory_bytes"), 0);
  EXPECT_EQ(page.Value("affine_log_lines_dropped_total"), 0);
}

}  // namespace
}  // namespace affine
