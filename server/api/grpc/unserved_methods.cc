#include "server/api/grpc/unserved_methods.h"

#include <string>
#include <string_view>

#include "server/api/grpc/call_header.h"

namespace affine {

namespace {

struct UnservedMethod {
  std::string_view prefix;  // of the method's path
  std::string_view why;
};

constexpr UnservedMethod kKnown[] = {
    {"/inference.GRPCInferenceService/RepositoryModel",
     "models are chosen when the server starts, with --model"},
    {"/inference.GRPCInferenceService/SystemSharedMemory",
     "there is no shared memory between caller and server; send tensors in the message"},
    {"/inference.GRPCInferenceService/CudaSharedMemory",
     "there is no shared memory between caller and server; send tensors in the message"},
    {"/inference.GRPCInferenceService/TraceSetting", "the server does not trace"},
    {"/inference.GRPCInferenceService/LogSettings",
     "the log is set when the server starts, with --log_level and --log_format"},
    {"/vllm.grpc.engine.VllmEngine/Embed", "the models here generate text and have no embeddings"},
    {"/vllm.grpc.engine.VllmEngine/FlushCache",
     "cached prefixes make no difference to answers and need no flush"},
    {"/vllm.grpc.engine.VllmEngine/GetTokenizer",
     "give the gateway the model's folder, or call Tokenize and Detokenize of "
     "affine.v1.CompletionService"},
    {"/vllm.grpc.engine.VllmEngine/SubscribeKvEvents",
     "cache events are not published; GetLoads tells how full the cache is"},
};

std::string MessageFor(const std::string& method) {
  const std::string message = "the method " + method + " is not served here";
  for (const UnservedMethod& known : kKnown) {
    if (std::string_view(method).starts_with(known.prefix)) {
      return message + ": " + std::string(known.why);
    }
  }
  return message + "; grpc.reflection lists what is";
}

class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(grpc::GenericCallbackServerContext* context) {
    Finish(
        CallHeader(context).StatusOf({ErrorCause::kNotFound, MessageFor(context->method()), ""}));
  }

 private:
  ~Refusal() override = default;
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerGenericBidiReactor* UnservedMethods::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Refusal(context);
}

}  // namespace affine
