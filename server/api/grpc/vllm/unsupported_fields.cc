#include "server/api/grpc/vllm/unsupported_fields.h"

#include <string>
#include <utility>

namespace affine {

namespace {

namespace wire = ::vllm::grpc::engine;
using Request = wire::GenerateRequest;

struct UnsupportedField {
  const char* name;
  /// The value if it is not neutral, as the error is to show it; else empty.
  std::string (*given)(const Request& request);
  const char* remedy;  // "leave it out"
};

std::string Presence(bool present) { return present ? "given" : ""; }

const wire::SamplingParams& Sampling(const Request& request) { return request.sampling_params(); }

std::string Choices(const Request& request) {
  return Sampling(request).n() <= 1 ? "" : std::to_string(Sampling(request).n());
}

std::string Rank(const Request& request) {
  const int32_t rank = request.data_parallel_rank();
  return rank == 0 ? "" : std::to_string(rank);
}

constexpr char kLeaveOut[] = "leave it out";

// To support a field: read it in generate_request.cc and delete its row.
constexpr UnsupportedField kUnsupported[] = {
    {"n", Choices, "send the request several times with different seeds"},
    {"structural_tag", [](const Request& r) { return Presence(Sampling(r).has_structural_tag()); },
     kLeaveOut},
    {"kv_transfer_params",
     [](const Request& r) {
       return Presence(r.has_kv_transfer_params() || r.has_kv_transfer_params_json());
     },
     "prefill and decode are one here; leave it out"},
    {"mm_inputs",
     [](const Request& r) {
       return Presence(r.has_mm_inputs() || r.extra_mm_inputs_size() > 0 || r.has_media_refs());
     },
     "the models here take text alone"},
    {"data_parallel_rank", Rank, "there is one rank, 0"},
};

}  // namespace

std::optional<RequestError> RefuseUnsupportedFields(const Request& request) {
  for (const UnsupportedField& field : kUnsupported) {
    const std::string value = field.given(request);
    if (value.empty()) continue;
    std::string message = "`";
    message.append(field.name).append("` is ").append(value);
    message.append("; it is not supported: ").append(field.remedy);
    return RequestError{ErrorCause::kBadInput, std::move(message), field.name};
  }
  return std::nullopt;
}

}  // namespace affine
