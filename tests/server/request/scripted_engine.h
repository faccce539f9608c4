// An engine that does what a test says: it keeps what was submitted and emits what it is told to.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "server/request/completion_engine.h"

namespace affine {

/// Thread-safe. A cancelled request gets its finish at once, unless the test holds cancels back.
class ScriptedEngine final : public CompletionEngine {
 public:
  explicit ScriptedEngine(ModelInfo info) : info_(std::move(info)) {}

  const ModelInfo& info() const override { return info_; }

  std::variant<std::vector<RequestHandle>, RequestError> SubmitAll(
      std::vector<Request> requests) override {
    std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    std::vector<RequestHandle> handles;
    for (Request& request : requests) {
      handles.push_back(++last_handle_);
      live_[last_handle_] = request.sink;
      submitted_.push_back(std::move(request));
    }
    changed_.notify_all();
    return handles;
  }

  void Cancel(RequestHandle handle, std::optional<RequestError> error) override {
    {
      std::lock_guard lock(mutex_);
      cancels_.emplace_back(handle, error);
      changed_.notify_all();
      if (holds_cancels_) return;
    }
    RequestFinish finish;
    finish.reason = error ? FinishReason::kError : FinishReason::kStop;
    finish.error = std::move(error);
    Finish(handle, std::move(finish));
  }

  EngineLoad load() const override { return {}; }

  void RefuseWith(RequestError error) {
    std::lock_guard lock(mutex_);
    refusal_ = std::move(error);
  }
  void HoldCancels() {
    std::lock_guard lock(mutex_);
    holds_cancels_ = true;
  }

  void Push(RequestHandle handle, TokenEvent event) {
    if (auto sink = SinkOf(handle, event.finish.has_value())) sink->Push(std::move(event));
  }
  void Emit(RequestHandle handle, const std::vector<int32_t>& tokens) {
    TokenEvent event;
    for (const int32_t id : tokens) event.tokens.push_back(Scored(id));
    Push(handle, std::move(event));
  }
  /// The first token, which was there at `when`.
  void EmitFirst(RequestHandle handle, int32_t token, Clock::Time when) {
    TokenEvent event;
    event.tokens = {Scored(token)};
    event.first_token = when;
    Push(handle, std::move(event));
  }
  void Finish(RequestHandle handle, RequestFinish finish) {
    TokenEvent event;
    event.finish = std::move(finish);
    Push(handle, std::move(event));
  }
  void Finish(RequestHandle handle, FinishReason reason) {
    RequestFinish finish;
    finish.reason = reason;
    Finish(handle, std::move(finish));
  }
  /// A token with a log-probability that a test can tell it by.
  static ScoredToken Scored(int32_t id) { return {id, -0.001f * static_cast<float>(id), 1, {}}; }

  /// Waits until `count` requests were submitted; the first has handle 1.
  Request AwaitRequest(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return submitted_.size() >= count; });
    return submitted_[count - 1];
  }
  std::pair<RequestHandle, std::optional<RequestError>> AwaitCancel(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancels_.size() >= count; });
    return cancels_[count - 1];
  }
  size_t submitted() const {
    std::lock_guard lock(mutex_);
    return submitted_.size();
  }
  size_t cancels() const {
    std::lock_guard lock(mutex_);
    return cancels_.size();
  }

 private:
  std::shared_ptr<TokenSink> SinkOf(RequestHandle handle, bool last) {
    std::lock_guard lock(mutex_);
    const auto found = live_.find(handle);
    if (found == live_.end()) return nullptr;
    std::shared_ptr<TokenSink> sink = found->second;
    if (last) live_.erase(found);
    return sink;
  }

  const ModelInfo info_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestHandle, std::shared_ptr<TokenSink>> live_;
  std::vector<Request> submitted_;
  std::vector<std::pair<RequestHandle, std::optional<RequestError>>> cancels_;
  std::optional<RequestError> refusal_;
  bool holds_cancels_ = false;
  RequestHandle last_handle_ = 0;
};

/// What the tests' model says of itself: a vocabulary for ByteTokenizer, 64 tokens long, affine.
inline ModelInfo SmallModelInfo(const Tokenizer& tokenizer) {
  ModelInfo info;
  info.architecture = "LlamaForCausalLM";
  info.dtype = "float32";
  info.weights = "float32";
  info.device = "cpu";
  info.vocab_size = tokenizer.vocab_size();
  info.max_model_len = 64;
  info.num_layers = 2;
  info.num_heads = 2;
  info.attention.affine = AffineScale{};
  info.block_size = 16;
  info.num_blocks = 32;
  info.eos_token_ids = {tokenizer.vocab_size() - 1};
  info.default_temperature = 0.5f;
  info.default_top_k = 7;
  info.default_top_p = 0.25f;
  return info;
}

}  // namespace affine
