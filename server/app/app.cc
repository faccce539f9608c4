#include "server/app/app.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <ostream>
#include <utility>

#include "model/available_memory.h"
#include "server/app/cache_bytes.h"
#include "server/app/drain.h"
#include "server/app/farewell.h"
#include "server/app/part_options.h"
#include "server/app/ready_notice.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

constexpr char kLogger[] = "affine.app";

std::vector<std::string> NamesOf(const std::vector<ModelChoice>& choices) {
  std::vector<std::string> names;
  for (const ModelChoice& choice : choices) names.push_back(choice.name);
  return names;
}

}  // namespace

App::App(Config config, std::vector<ModelChoice> choices, std::string version, AppParts parts)
    : config_(std::move(config)),
      choices_(std::move(choices)),
      version_(std::move(version)),
      parts_(std::move(parts)),
      telemetry_(parts_.log, NamesOf(choices_), version_, config_.vllm_metrics),
      models_(NamesOf(choices_)),
      api_(MakeApiOptions(config_, version_), models_, clock_, telemetry_.edge(),
           [this] { return telemetry_.RenderMetrics(); }) {}

App::~App() { hosts_.StopThreads(); }

Outcome App::Run() {
  if (const std::optional<std::string> why = api_.Start()) {
    return {ExitCode::kUnavailable, *why};
  }
  parts_.log.Write(LogLevel::kInfo, kLogger, "listening",
                   {{"host", config_.host}, {"port", api_.port()}});
  if (std::optional<Outcome> outcome = LoadAll()) {
    // Requests of models that were loaded sooner may finish, if it was a signal.
    if (outcome->code == ExitCode::kDone && !hosts_.all().empty()) return DrainAll();
    api_.Shutdown(milliseconds(0));
    return *outcome;
  }
  return Serve();
}

std::optional<Outcome> App::LoadAll() {
  const int64_t cache_bytes = CacheBytes(config_.kv_cache_gib, AvailableMemory());
  for (size_t i = 0; i < choices_.size(); ++i) {
    auto result = Load(choices_[i], cache_bytes);
    if (auto* outcome = std::get_if<Outcome>(&result)) {
      if (outcome->code != ExitCode::kDone && choices_.size() > 1) {
        outcome->cause = "the model '" + choices_[i].name + "': " + outcome->cause;
      }
      return std::move(*outcome);
    }
    StartServing(i, std::move(std::get<LoadedModel>(result)));
  }
  SayReady();
  return std::nullopt;
}

std::variant<LoadedModel, Outcome> App::Load(const ModelChoice& choice, int64_t cache_bytes) {
  ModelLoading loading(choice.name, parts_.loaders,
                       MakeLoadOptions(config_, choice, choices_.size(), cache_bytes),
                       choice.chat_template, parts_.log, [this] { parts_.inbox.Wake(); });
  bool cancelled = false;
  while (!loading.done()) {
    const SignalInbox::Event event = parts_.inbox.Wait();
    if (const auto failure = hosts_.Failure()) EndNow(parts_.log, *failure);
    if (event != SignalInbox::Event::kSignal) continue;
    if (cancelled) EndNow(parts_.log, {ExitCode::kDone, ""});
    loading.Cancel();
    models_.CloseForDrain();
    parts_.log.Write(LogLevel::kInfo, kLogger, "stopping before the model is loaded",
                     {{"model", choice.name}});
    cancelled = true;
  }
  auto result = loading.Take();
  if (cancelled) return Outcome{ExitCode::kDone, ""};
  return result;
}

void App::StartServing(size_t index, LoadedModel loaded) {
  ModelHost& host = hosts_.Add(
      std::make_unique<ModelHost>(choices_[index].name, std::move(loaded),
                                  MakeEngineOptions(config_), MakeGrammarOptions(config_), clock_,
                                  telemetry_.model(index), [this] { parts_.inbox.Wake(); }));
  models_.Add(host.Listing());
  api_.PublishReadiness();
  const ModelInfo& info = host.info();
  parts_.log.Write(LogLevel::kInfo, kLogger, "the model is loaded",
                   {{"model", host.name()},
                    {"architecture", info.architecture},
                    {"device", info.device},
                    {"dtype", info.dtype},
                    {"weights", info.weights},
                    {"max_model_len", info.max_model_len},
                    {"cache_blocks", info.num_blocks},
                    {"block_size", info.block_size},
                    {"load_seconds", std::round(host.load_seconds() * 1000) / 1000}});
}

void App::SayReady() {
  ReadyNotice notice{version_, config_.host, api_.port(), !config_.api_key.empty(), {}};
  for (const auto& host : hosts_.all()) {
    notice.models.push_back({host->name(), host->info(), host->load_seconds()});
  }
  parts_.log.Write(LogLevel::kInfo, kLogger, "ready",
                   {{"models", NamesOf(choices_)}, {"address", notice.Address()}});
  parts_.out << notice.Text() << std::flush;
}

Outcome App::Serve() {
  while (parts_.inbox.Wait() != SignalInbox::Event::kSignal) {
    if (const auto failure = hosts_.Failure()) EndNow(parts_.log, *failure);
  }
  return DrainAll();
}

Outcome App::DrainAll() {
  const DrainParts parts{parts_.inbox, parts_.log, hosts_, models_, api_, clock_};
  return Drain(parts, config_.shutdown_timeout).Run();
}

}  // namespace affine
