#include "server/app/engine_thread.h"

#include <exception>
#include <utility>

namespace affine {

EngineThread::EngineThread(Engine& engine, std::function<void()> on_failure)
    : engine_(engine), thread_([this, on_failure = std::move(on_failure)] {
        try {
          engine_.Run();
        } catch (const std::exception& error) {
          cause_ = error.what();
          failed_ = true;
          on_failure();
        }
      }) {}

EngineThread::~EngineThread() { Stop(); }

void EngineThread::Stop() {
  if (!thread_.joinable()) return;
  engine_.Stop(StoppingError());
  thread_.join();
}

RequestError StoppingError() {
  RequestError error;
  error.cause = ErrorCause::kUnavailable;
  error.message = "the server is shutting down and could not wait for this request; try again";
  error.retry_after_seconds = 1;
  return error;
}

}  // namespace affine
