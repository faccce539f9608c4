// The models behind this process, by the names they are served under.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/chat_template.h"
#include "model/tokenizer.h"
#include "server/request/completion_engine.h"
#include "server/request/grammar_source.h"
#include "server/request/request_error.h"
#include "server/request/stability_source.h"

namespace affine {

struct ServedModel {
  std::string name;
  CompletionEngine* engine = nullptr;    // outlives ServedModels
  const Tokenizer* tokenizer = nullptr;  // outlives ServedModels
  int64_t created_unix_seconds = 0;
  const StabilitySource* stability = nullptr;  // outlives ServedModels; null: nothing is observed
  GrammarSource* grammars = nullptr;  // outlives ServedModels; null: structured_output is refused
  const ChatTemplate* chat_template = nullptr;  // outlives ServedModels; null: there is none
};

/// Thread-safe. Models are added once loaded and stay; pointers to them stay valid.
class ServedModels {
 public:
  /// `names`: every name that will be served, in order, so that an unknown one can be told from
  /// one that is still loading.
  explicit ServedModels(std::vector<std::string> names);
  void Add(ServedModel model);
  /// From now on Find answers kUnavailable: the process is draining.
  void CloseForDrain();
  /// The model under `name` (empty: the first); kUnknownModel lists the served names, kUnavailable
  /// says that it is still loading or that the server is draining.
  std::variant<const ServedModel*, RequestError> Find(std::string_view name) const;
  std::vector<const ServedModel*> List() const;
  /// Every name that is or will be served, in order.
  const std::vector<std::string>& names() const { return names_; }
  /// Whether the model under `name` was added, also while draining.
  bool IsLoaded(std::string_view name) const;
  /// All models are loaded and the process is not draining.
  bool ready() const;

 private:
  const std::vector<std::string> names_;
  mutable std::mutex mutex_;
  std::deque<ServedModel> models_;
  bool draining_ = false;
};

}  // namespace affine
