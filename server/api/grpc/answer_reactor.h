// A unary call that is answered by one piece of work.
#pragma once

#include <grpcpp/grpcpp.h>

#include "server/api/grpc/call_counter.h"

namespace affine {

/// Counted as in flight until gRPC is done with it, then it deletes itself. Whoever made it calls
/// Finish once; a cancel changes nothing, since the work is short.
class AnswerReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit AnswerReactor(CallCounter& counter) : counter_(counter) { counter_.Enter(); }

 private:
  ~AnswerReactor() override = default;
  void OnDone() override {
    counter_.Leave();
    delete this;
  }

  CallCounter& counter_;
};

}  // namespace affine
