// ModelStreamInfer: many requests on one stream, each answered in one response or in pieces.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/strand.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/api/grpc/call_header.h"
#include "server/api/grpc/oip/infer_answer.h"
#include "server/api/grpc/oip/infer_counts.h"
#include "server/api/grpc/service_parts.h"

namespace affine {

/// Works on a strand, as CompletionSession does. Requests take turns, one write is in flight. Each
/// request counts as a call in flight, the stream itself does not: one that is idle holds up no
/// shutdown. Lives until gRPC is done with the call and the last posted work has run.
class InferStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public std::enable_shared_from_this<InferStream> {
 public:
  /// While so many requests are not fully answered, no more are read.
  static constexpr size_t kMostUnanswered = 1024;

  /// References outlive the call, as gRPC's `context` does.
  InferStream(const ServiceParts& parts, InferCounts& counts, grpc::CallbackServerContext* context);
  ~InferStream() override;
  /// Once, from gRPC's thread.
  void Begin();

 private:
  using RequestNumber = uint64_t;
  struct Work;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

  void Post(std::function<void(InferStream&)> work);
  // On the strand.
  void Start();
  void OnRead(bool ok, Clock::Time arrival);
  void StartRequest(Clock::Time arrival);
  void ReadMore();
  void OnReady(RequestNumber number);
  /// Writes the next response, if there is one and no write is in flight.
  void Pump();
  /// The next response of `work`, or none yet.
  std::optional<grpc::ByteBuffer> NextResponse(Work& work);
  void NoteFirstToken(Work& work, const CompletionChunk& chunk);
  void OnWritten(bool ok);
  /// Ends the RPC once its last request is answered and no more can come.
  void EndIfDone();
  void OnInterrupt();
  void End(grpc::Status status);

  const ServiceParts& parts_;
  InferCounts& counts_;
  boost::asio::strand<boost::asio::any_io_executor> strand_;
  CallHeader header_;
  std::shared_ptr<InferStream> self_;                     // from Begin to OnDone
  grpc::ByteBuffer request_;                              // of the read in flight
  grpc::ByteBuffer response_;                             // of the write in flight
  std::map<RequestNumber, std::unique_ptr<Work>> works_;  // not fully answered
  std::deque<RequestNumber> ready_;                       // whose turn it is; each once
  RequestNumber last_number_ = 0;
  std::optional<RequestNumber> writing_;  // whose response is in flight
  bool reading_ = false;                  // a read is in flight
  bool half_closed_ = false;              // no more requests come
  bool ended_ = false;  // the RPC's end is under way: gRPC's objects are left alone
  std::optional<grpc::Status> ends_with_;  // once the write in flight is done
};

}  // namespace affine
