#include "server/app/model_loading.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>

#include "model/model_error.h"
#include "tests/server/telemetry/line_sink.h"
#include "tests/support/fake_chat_template.h"

namespace affine {
namespace {

class NamelessModel final : public LanguageModel {
 public:
  const ModelInfo& info() const override { return info_; }
  std::span<const SliceResult> Step(const StepBatch& batch) override { return {}; }
  double observation_seconds() const override { return 0; }

 private:
  ModelInfo info_;
};

class ModelLoadingTest : public testing::Test {
 protected:
  /// Loads with a model loader that does `load`.
  std::variant<LoadedModel, Outcome> Load(std::function<void(const LoadOptions&)> load) {
    LoadOptions options;
    options.path = "folder";
    ModelLoading loading("smol",
                         {[](const std::string&) { return nullptr; },
                          [load](const LoadOptions& given) {
                            load(given);
                            return std::make_unique<NamelessModel>();
                          },
                          [](const ChatTemplateOptions& given) {
                            EXPECT_EQ(given.folder, "folder");
                            return std::make_unique<FakeChatTemplate>(given.file);
                          }},
                         options, chat_template_, log_, [] {});
    return loading.Take();
  }
  template <typename Error>
  Outcome Failure(const Error& error) {
    return std::get<Outcome>(Load([error](const LoadOptions&) { throw error; }));
  }

  std::string chat_template_;
  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
};

TEST_F(ModelLoadingTest, HandsOverWhatWasLoaded) {
  auto result = Load([](const LoadOptions& options) { EXPECT_EQ(options.path, "folder"); });
  EXPECT_NE(std::get<LoadedModel>(result).model, nullptr);
  EXPECT_GE(std::get<LoadedModel>(result).seconds, 0);
}

TEST_F(ModelLoadingTest, TellsWhyConversationsWillBeRefused) {
  chat_template_ = "no template";  // the fake's problem
  const auto result = Load([](const LoadOptions&) {});
  EXPECT_EQ(std::get<LoadedModel>(result).chat_template->problem(), "no template");
  EXPECT_NE(sink_->WaitForLine("conversations are refused").find("no template"), std::string::npos);
}

TEST_F(ModelLoadingTest, TellsFailuresApart) {
  const Outcome config = Failure(ModelError("model.safetensors lacks norm.weight"));
  EXPECT_EQ(config.code, ExitCode::kConfig);
  EXPECT_EQ(config.cause, "model.safetensors lacks norm.weight");
  EXPECT_EQ(Failure(DeviceError("no cuda here")).code, ExitCode::kUnavailable);
  EXPECT_EQ(Failure(std::bad_alloc()).code, ExitCode::kFailure);
  const Outcome broken = Failure(std::logic_error("oops"));
  EXPECT_EQ(broken.code, ExitCode::kBroken);
  EXPECT_EQ(broken.cause, "internal error while loading 'folder': oops");
}

TEST_F(ModelLoadingTest, LogsEachQuarterOnce) {
  Load([](const LoadOptions& options) {
    for (int percent = 0; percent <= 100; ++percent) options.progress(percent / 100.0);
  });
  log_.Close();
  EXPECT_EQ(sink_->lines().size(), 5u);  // the start, 25, 50, 75, 100
  for (const std::string& line : sink_->lines()) {
    EXPECT_EQ(nlohmann::json::parse(line)["model"], "smol") << line;
  }
}

TEST_F(ModelLoadingTest, ACancelledLoadEndsAtTheNextReportOfProgress) {
  std::promise<void> cancelled;
  std::promise<void> started;
  ModelLoading loading(
      "smol",
      {[](const std::string&) { return nullptr; },
       [&](const LoadOptions& options) -> std::unique_ptr<LanguageModel> {
         started.set_value();
         cancelled.get_future().wait();
         options.progress(0.5);
         ADD_FAILURE() << "went on";
         return nullptr;
       },
       [](const ChatTemplateOptions&) { return std::make_unique<FakeChatTemplate>(); }},
      {}, "", log_, [] {});
  started.get_future().wait();
  loading.Cancel();
  cancelled.set_value();
  EXPECT_EQ(std::get<Outcome>(loading.Take()).code, ExitCode::kDone);
}

TEST_F(ModelLoadingTest, SaysWhenItIsDone) {
  std::promise<void> done;
  ModelLoading loading(
      "smol",
      {[](const std::string&) { return nullptr; },
       [](const LoadOptions&) { return std::make_unique<NamelessModel>(); },
       [](const ChatTemplateOptions&) { return std::make_unique<FakeChatTemplate>(); }},
      {}, "", log_, [&done] { done.set_value(); });
  done.get_future().wait();
  EXPECT_TRUE(loading.done());
  EXPECT_NE(std::get<LoadedModel>(loading.Take()).model, nullptr);
}

}  // namespace
}  // namespace affine
