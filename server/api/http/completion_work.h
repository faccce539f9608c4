// One POST /v1/completions or /v1/chat/completions from its body to its last byte.
#pragma once

#include <memory>
#include <optional>

#include "server/api/api_server.h"
#include "server/api/http/completion_codec.h"
#include "server/api/http/completion_writer.h"
#include "server/api/http/http_router.h"
#include "server/request/completion_call.h"
#include "server/request/served_models.h"

namespace affine {

/// One piece is on its way at a time, so that a slow client gets fewer, larger ones; the completion
/// is read meanwhile all the same, for that is what finds stop strings. A stream's headers go out
/// with its first piece: what fails earlier is answered with its status. Everything runs on the
/// connection's strand.
class CompletionWork final : public HttpWork, public std::enable_shared_from_this<CompletionWork> {
 public:
  /// Starts the completion, or says why it was refused. References outlive the work.
  static RouteAnswer Begin(CompletionBody body, const ServedModels& models, const Clock& clock,
                           ApiObserver& observer, HttpResponder& responder);

  void OnWritten() override;
  void OnDisconnect() override;

 private:
  CompletionWork(const Clock& clock, ApiObserver& observer, HttpResponder& responder)
      : clock_(clock), observer_(observer), responder_(responder) {}
  void Advance();
  void AdvanceStream();
  void NoteFirstWrite();
  void Finish();
  HttpResponse Identified(HttpResponse response) const;

  const Clock& clock_;
  ApiObserver& observer_;
  HttpResponder& responder_;  // owns this
  Clock::Time arrival_{};
  bool stream_ = false;
  bool owes_first_write_ = false;  // the stream's first token was read and is not written yet
  bool streaming_ = false;         // headers are out
  bool writing_ = false;           // a piece is on its way
  bool ended_ = false;             // the last chunk has been read
  bool done_ = false;              // the last piece has been handed over, or nobody wants it
  std::shared_ptr<CompletionCall> call_;
  std::optional<CompletionWriter> writer_;
  std::optional<RequestError> error_;  // of the completion
};

}  // namespace affine
