#include "server/app/model_loading.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "model/model_error.h"

namespace affine {
namespace {

/// Thrown through a loader from its progress callback.
class LoadCancelled : public std::exception {};

constexpr char kLogger[] = "affine.load";

}  // namespace

ModelLoading::ModelLoading(std::string name, ModelLoaders loaders, LoadOptions options,
                           std::string chat_template, ServerLog& log, std::function<void()> on_done)
    : name_(std::move(name)),
      loaders_(std::move(loaders)),
      options_(std::move(options)),
      chat_template_(std::move(chat_template)),
      log_(log) {
  options_.progress = [this](double share) { Report(share); };
  thread_ = std::thread([this, on_done = std::move(on_done)] {
    result_ = Load();
    done_ = true;
    on_done();
  });
}

ModelLoading::~ModelLoading() {
  Cancel();
  if (thread_.joinable()) thread_.join();
}

std::variant<LoadedModel, Outcome> ModelLoading::Take() {
  thread_.join();
  return std::move(result_);
}

std::variant<LoadedModel, Outcome> ModelLoading::Load() {
  try {
    return LoadParts();
  } catch (const LoadCancelled&) {
    return Outcome{ExitCode::kDone, ""};
  } catch (const DeviceError& error) {
    return Outcome{ExitCode::kUnavailable, error.what()};
  } catch (const ModelError& error) {
    return Outcome{ExitCode::kConfig, error.what()};
  } catch (const std::bad_alloc&) {
    return Outcome{ExitCode::kFailure, "memory ran out while loading '" + options_.path +
                                           "'; free some, or lower --kv_cache_gib"};
  } catch (const std::exception& error) {
    return Outcome{ExitCode::kBroken,
                   "internal error while loading '" + options_.path + "': " + error.what()};
  }
}

LoadedModel ModelLoading::LoadParts() {
  const auto begin = std::chrono::steady_clock::now();
  log_.Write(LogLevel::kInfo, kLogger, "loading the model",
             {{"model", name_}, {"folder", options_.path}});
  LoadedModel loaded;
  loaded.tokenizer = loaders_.tokenizer(options_.path);
  Report(0);
  loaded.chat_template = loaders_.chat_template({options_.path, chat_template_});
  SayIfWithoutChat(*loaded.chat_template);
  loaded.model = loaders_.model(options_);
  if (loaders_.grammars) {
    loaded.grammars = loaders_.grammars(loaded.model->info(), *loaded.tokenizer);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  loaded.seconds = took.count();
  return loaded;
}

void ModelLoading::SayIfWithoutChat(const ChatTemplate& chat_template) {
  if (chat_template.problem().empty()) return;
  log_.Write(LogLevel::kWarning, kLogger, "conversations are refused",
             {{"model", name_}, {"cause", chat_template.problem()}});
}

void ModelLoading::Report(double share) {
  if (cancelled_) throw LoadCancelled();
  const int quarters = static_cast<int>(share * 4);
  if (quarters <= quarters_told_) return;
  quarters_told_ = quarters;
  log_.Write(LogLevel::kInfo, kLogger, "loading the model",
             {{"model", name_}, {"percent", quarters * 25}});
}

}  // namespace affine
