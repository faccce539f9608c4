#include "server/app/app.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <random>
#include <thread>
#include <utility>

#include "model/available_memory.h"
#include "server/app/cache_bytes.h"
#include "server/app/farewell.h"
#include "server/app/ready_notice.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

constexpr char kLogger[] = "affine.app";
/// For writing out the last words of calls whose requests have ended.
constexpr milliseconds kLastWords{1000};
/// After a second signal: how long threads may take to notice.
constexpr milliseconds kHardStop{2000};

ApiOptions MakeApiOptions(const Config& config, const std::string& version) {
  ApiOptions options;
  options.host = config.host;
  options.port = static_cast<int>(config.port);
  options.threads = static_cast<int>(config.http_threads);
  options.max_body_bytes = config.max_body_mib << 20;
  options.version = version;
  options.api_key = config.api_key;
  return options;
}

EngineOptions MakeEngineOptions(const Config& config) {
  // Drawn anew for each process, so that nobody can prepare prompts whose blocks collide.
  std::random_device random;
  const auto word = [&random] { return (uint64_t{random()} << 32) | random(); };
  EngineOptions options;
  options.max_num_batched_tokens = static_cast<int32_t>(config.max_num_batched_tokens);
  options.max_prefill_tokens_beside_decodes =
      static_cast<int32_t>(config.max_prefill_tokens_beside_decodes);
  options.max_num_seqs = static_cast<int32_t>(config.max_num_seqs);
  options.max_num_queued_reqs = static_cast<int32_t>(config.max_num_queued_reqs);
  options.enable_prefix_caching = config.enable_prefix_caching;
  options.stability_sample_every = static_cast<int32_t>(config.stability_sample_every);
  options.prefix_hash_key = {word(), word()};
  return options;
}

}  // namespace

App::App(Config config, ModelChoice choice, std::string version, AppParts parts)
    : config_(std::move(config)),
      choice_(std::move(choice)),
      version_(std::move(version)),
      parts_(std::move(parts)),
      telemetry_(parts_.log, choice_.name, version_, config_.vllm_metrics),
      models_({choice_.name}),
      api_(MakeApiOptions(config_, version_), models_, clock_, telemetry_.observer(),
           [this] { return telemetry_.RenderMetrics(); }) {}

App::~App() = default;

Outcome App::Run() {
  if (const std::optional<std::string> why = api_.Start()) {
    return {ExitCode::kUnavailable, *why};
  }
  parts_.log.Write(LogLevel::kInfo, kLogger, "listening",
                   {{"host", config_.host}, {"port", api_.port()}});
  if (std::optional<Outcome> outcome = Load()) {
    api_.Shutdown(milliseconds(0));
    return *outcome;
  }
  return Serve();
}

LoadOptions App::MakeLoadOptions() const {
  LoadOptions options;
  options.path = choice_.folder;
  options.device = config_.device;
  options.dtype = config_.dtype;
  options.max_model_len = static_cast<int32_t>(config_.max_model_len);
  options.block_size = static_cast<int32_t>(config_.block_size);
  options.kv_cache_bytes = CacheBytes(config_.kv_cache_gib, AvailableMemory());
  options.max_batched_tokens = static_cast<int32_t>(config_.max_num_batched_tokens);
  options.num_threads = static_cast<int32_t>(config_.threads);
  return options;
}

std::optional<Outcome> App::Load() {
  ModelLoading loading(parts_.loaders, MakeLoadOptions(), parts_.log,
                       [this] { parts_.inbox.Wake(); });
  bool cancelled = false;
  while (parts_.inbox.Wait() == SignalInbox::Event::kSignal) {
    if (cancelled) EndNow({ExitCode::kDone, ""});
    loading.Cancel();
    parts_.log.Write(LogLevel::kInfo, kLogger, "stopping before the model is loaded");
    cancelled = true;
  }
  auto result = loading.Take();
  if (cancelled) return Outcome{ExitCode::kDone, ""};
  if (auto* outcome = std::get_if<Outcome>(&result)) return std::move(*outcome);
  StartServing(std::move(std::get<LoadedModel>(result)));
  return std::nullopt;
}

void App::StartServing(LoadedModel loaded) {
  tokenizer_ = std::move(loaded.tokenizer);
  model_ = std::move(loaded.model);
  engine_ =
      std::make_unique<Engine>(*model_, MakeEngineOptions(config_), clock_, telemetry_.observer());
  telemetry_.ModelReady(*engine_, config_.enable_prefix_caching);
  engine_thread_ = std::make_unique<EngineThread>(*engine_, [this] { parts_.inbox.Wake(); });
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  models_.Add({choice_.name, engine_.get(), tokenizer_.get(),
               std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count()});
  api_.PublishReadiness();
  const ModelInfo& info = model_->info();
  const ReadyNotice notice{version_,    choice_.name,   config_.host,
                           api_.port(), loaded.seconds, !config_.api_key.empty()};
  parts_.log.Write(LogLevel::kInfo, kLogger, "ready",
                   {{"model", choice_.name},
                    {"address", notice.Address()},
                    {"architecture", info.architecture},
                    {"device", info.device},
                    {"dtype", info.dtype},
                    {"max_model_len", info.max_model_len},
                    {"cache_blocks", info.num_blocks},
                    {"block_size", info.block_size},
                    {"load_seconds", std::round(loaded.seconds * 1000) / 1000}});
  parts_.out << notice.Text(info) << std::flush;
}

Outcome App::Serve() {
  while (parts_.inbox.Wait() != SignalInbox::Event::kSignal) {
    if (engine_thread_->failed()) {
      EndNow({ExitCode::kBroken, "the engine stopped: " + engine_thread_->cause()});
    }
  }
  return Drain();
}

// Lines are logged once what they say is true, so that whoever reads them can rely on it.
Outcome App::Drain() {
  const auto timeout = std::chrono::duration_cast<Clock::Duration>(
      std::chrono::duration<double>(config_.shutdown_timeout));
  models_.CloseForDrain();
  api_.PublishReadiness();
  engine_->Drain();
  const EngineLoad load = engine_->load();
  parts_.log.Write(LogLevel::kInfo, kLogger, "draining",
                   {{"running", load.running},
                    {"waiting", load.waiting},
                    {"shutdown_timeout_seconds", config_.shutdown_timeout}});

  std::atomic<bool> finished = false;
  std::thread finisher([this, timeout, &finished] {
    FinishCalls(clock_.Now() + timeout);
    finished = true;
    parts_.inbox.Wake();
  });
  std::optional<milliseconds> patience;
  while (!finished) {
    const SignalInbox::Event event = parts_.inbox.Wait(patience);
    if (engine_thread_->failed()) {
      EndNow({ExitCode::kBroken, "the engine stopped: " + engine_thread_->cause()});
    }
    const bool third_signal = event == SignalInbox::Event::kSignal && patience;
    if (event == SignalInbox::Event::kTimeout || third_signal) EndNow({ExitCode::kDone, ""});
    if (event == SignalInbox::Event::kSignal) {
      engine_->Stop(StoppingError());
      parts_.log.Write(LogLevel::kWarning, kLogger, "second signal: requests are cut off");
      patience = kHardStop;
    }
  }
  finisher.join();
  engine_thread_->Stop();
  parts_.log.Write(LogLevel::kInfo, kLogger, "stopped");
  return {ExitCode::kDone, ""};
}

void App::FinishCalls(Clock::Time deadline) {
  if (!engine_->WaitIdle(deadline)) {
    const EngineLoad load = engine_->load();
    engine_->Stop(StoppingError());
    parts_.log.Write(LogLevel::kWarning, kLogger,
                     "--shutdown_timeout is over: requests are cut off",
                     {{"running", load.running}, {"waiting", load.waiting}});
  }
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock_.Now());
  api_.Shutdown(std::max(left, kLastWords));
}

void App::EndNow(const Outcome& outcome) {
  parts_.log.Close();
  std::_Exit(SayFarewell(outcome));
}

}  // namespace affine
