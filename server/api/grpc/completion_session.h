// One completion behind a gRPC call, unary or streamed.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api/grpc/call_header.h"
#include "server/api/grpc/service_parts.h"

namespace affine {

/// Its work runs on a strand of the front end's executor: neither gRPC's
/// threads nor the engine's ever tokenise or detokenise. Pieces that can't be
/// delivered yet stay in the CompletionCall. Lives until gRPC is done with the
/// call and the last posted work has run.
class CompletionSession : public std::enable_shared_from_this<CompletionSession> {
 public:
  /// `parts` outlives the call, as gRPC's `context` and `request` do.
  CompletionSession(const ServiceParts& parts, grpc::CallbackServerContext* context,
                    const grpc::ByteBuffer* request);
  virtual ~CompletionSession() = default;
  /// Once, from gRPC's thread.
  void Begin();

 protected:
  // From gRPC's threads.
  void Interrupt();         // OnCancel
  void Delivered(bool ok);  // OnWriteDone
  void Release();           // OnDone: the last thing that gRPC says

  // On the strand.
  /// What the call's message asks for, and whether the answer goes out in pieces (params.stream);
  /// see CompletionIntake::ParamsReader.
  virtual std::optional<RequestError> ReadParams(const grpc::ByteBuffer& bytes,
                                                 CompletionParams& params) = 0;
  /// The completion runs; its chunks follow.
  virtual void Started(const std::shared_ptr<CompletionCall>& call) {}
  /// A piece with the first token is about to be written to the caller's
  /// stream.
  void NoteFirstWrite();
  /// The first token of an answer that is no stream was there at `when`.
  void NoteFirstToken(Clock::Time when);
  /// Gives out a chunk. True if another may follow at once; false if that waits
  /// for Delivered().
  virtual bool Deliver(const CompletionChunk& chunk, const CompletionCall& call) = 0;
  /// Gives out the last chunk, if there is one and it brings anything, and ends the RPC. The status
  /// is of the chunk's error; without a chunk the completion never started or was interrupted.
  virtual void Conclude(const CompletionChunk* last, const CompletionCall* call,
                        grpc::Status status) = 0;
  Clock::Time arrival() const { return arrival_; }
  const CompletionIntake& intake() const { return parts_.intake; }

 private:
  void Post(std::function<void(CompletionSession&)> work);
  void Start();
  void Pump();
  void OnDelivered(bool ok);
  void OnInterrupt();
  void End(grpc::Status status);

  const ServiceParts& parts_;
  boost::asio::strand<boost::asio::any_io_executor> strand_;
  const Clock::Time arrival_;
  const grpc::ByteBuffer* request_;
  CallHeader header_;
  std::shared_ptr<CompletionSession> self_;  // from Begin to Release
  std::shared_ptr<CompletionCall> call_;
  std::string model_name_;   // of call_, which goes before the last piece does
  bool delivering_ = false;  // a write is in flight
  bool broken_ = false;      // a write failed: OnCancel follows
  bool ended_ = false;       // the RPC's end is under way: gRPC's objects are left alone
  std::optional<grpc::Status> ends_with_;  // once the write in flight is done
};

}  // namespace affine
