// Answers calls of methods that no service here has.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

namespace affine {

/// UNIMPLEMENTED with a message that names the method and, for those of contracts served here in
/// part, why it is missing and what to do instead. Thread-safe.
class UnservedMethods final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
};

}  // namespace affine
