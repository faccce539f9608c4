// An app on fake models, with real signals and a real port.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "server/app/app.h"
#include "tests/server/app/http_exchange.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/telemetry/line_sink.h"
#include "tests/support/fake_chat_template.h"
#include "tests/support/fake_model.h"

namespace affine {

/// A door that a thread waits before, until it is opened for good.
class Door {
 public:
  void Open() { opened_.set_value(); }
  /// Tells whoever waits in AwaitSomeone, then waits for Open.
  void Pass() {
    if (!told_) someone_.set_value();
    told_ = true;
    open_.wait();
  }
  void AwaitSomeone() { someone_.get_future().wait(); }

 private:
  std::promise<void> opened_;
  std::promise<void> someone_;
  const std::shared_future<void> open_ = opened_.get_future().share();
  bool told_ = false;  // for the thread that passes
};

inline constexpr char kBody[] = R"({"prompt": "abc", "max_tokens": 20, "ignore_eos": true})";

/// The app runs on a thread of its own.
class AppTest : public testing::Test {
 protected:
  void SetUp() override { config_.port = 0; }

  ModelLoaders Loaders() {
    return {[](const std::string&) { return std::make_unique<ByteTokenizer>(); },
            [this](const LoadOptions& options) -> std::unique_ptr<LanguageModel> {
              if (before_load_) before_load_(options);
              FakeModelOptions fake;
              fake.vocab_size = ByteTokenizer().vocab_size();
              auto model = std::make_unique<FakeModel>(fake);
              if (before_step_) {
                model->before_step = [this, folder = options.path](const StepBatch& batch) {
                  before_step_(folder, batch);
                };
              }
              return model;
            },
            [](const ChatTemplateOptions& options) {
              return std::make_unique<FakeChatTemplate>(options.file);
            }};
  }
  void Start() {
    running_ = std::async(std::launch::async, [this] {
      App app(config_, choices_, "1.2.3", {inbox_, log_, out_, Loaders()});
      return app.Run();
    });
  }
  int Port() {
    return nlohmann::json::parse(sink_->WaitForLine("\"listening\""))["port"].get<int>();
  }
  void AwaitReady() { sink_->WaitForLine("\"ready\""); }
  /// Posts a completion to `model` on a thread of its own.
  std::future<HttpExchange> Post(const std::string& model) {
    nlohmann::json body = nlohmann::json::parse(kBody);
    body["model"] = model;
    return std::async(std::launch::async, [port = Port(), text = body.dump()] {
      return HttpExchange(port, "POST", "/v1/completions", text);
    });
  }
  Outcome Stop() {
    kill(getpid(), SIGTERM);
    return running_.get();
  }

  SignalInbox inbox_;  // first: it blocks the signals for the threads to come
  Config config_;
  std::vector<ModelChoice> choices_ = {{"fake", "folder"}};
  std::function<void(const LoadOptions&)> before_load_;
  /// Called before each step of the model from that folder.
  std::function<void(const std::string& folder, const StepBatch&)> before_step_;
  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
  std::ostringstream out_;
  std::future<Outcome> running_;
};

}  // namespace affine
