// Loads a tokenizer and a model on a thread of its own, so that the process stays responsive.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>

#include "model/chat_template.h"
#include "model/language_model.h"
#include "model/model_loader.h"
#include "model/tokenizer.h"
#include "server/app/exit_code.h"
#include "server/grammar/grammar_compiler.h"
#include "server/telemetry/server_log.h"

namespace affine {

/// Where models come from: LoadTokenizer, LoadLanguageModel, LoadChatTemplate and
/// MakeXGrammarCompiler in the real server. The first three throw ModelError. Without `grammars`
/// forms of output are refused.
struct ModelLoaders {
  std::function<std::unique_ptr<Tokenizer>(const std::string& folder)> tokenizer;
  std::function<std::unique_ptr<LanguageModel>(const LoadOptions& options)> model;
  std::function<std::unique_ptr<ChatTemplate>(const ChatTemplateOptions& options)> chat_template;
  std::function<std::unique_ptr<GrammarCompiler>(const ModelInfo& model,
                                                 const Tokenizer& tokenizer)>
      grammars = nullptr;
};

struct LoadedModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<GrammarCompiler> grammars;  // may be null
  double seconds = 0;
};

class ModelLoading {
 public:
  /// Starts at once and logs its progress to `log`, under the served `name`. `on_done` is called on
  /// the loading thread once done() is true. `chat_template`: a file, or empty for the model's own.
  ModelLoading(std::string name, ModelLoaders loaders, LoadOptions options,
               std::string chat_template, ServerLog& log, std::function<void()> on_done);
  ~ModelLoading();  // cancels and waits
  /// Gives up at the next report of progress.
  void Cancel() { cancelled_ = true; }
  /// Take would not block.
  bool done() const { return done_; }
  /// Waits for the end. Once only. After Cancel the outcome may be kDone.
  std::variant<LoadedModel, Outcome> Take();

 private:
  std::variant<LoadedModel, Outcome> Load();
  LoadedModel LoadParts();
  void SayIfWithoutChat(const ChatTemplate& chat_template);
  void Report(double share);

  const std::string name_;
  const ModelLoaders loaders_;
  LoadOptions options_;
  const std::string chat_template_;
  ServerLog& log_;
  std::atomic<bool> cancelled_ = false;
  int quarters_told_ = 0;  // of the work, for the loading thread alone
  std::variant<LoadedModel, Outcome> result_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace affine
