#include "server/api/grpc/vllm/generate_request.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/api/grpc/vllm/unsupported_fields.h"

namespace affine {

namespace {

namespace wire = ::vllm::grpc::engine;

std::optional<StructuredOutput> FormOf(const wire::SamplingParams& sampling) {
  using Kind = StructuredOutput::Kind;
  switch (sampling.constraint_case()) {
    case wire::SamplingParams::kJsonSchema:
      return StructuredOutput{Kind::kJsonSchema, sampling.json_schema(), {}, "json_schema"};
    case wire::SamplingParams::kRegex:
      return StructuredOutput{Kind::kRegex, sampling.regex(), {}, "regex"};
    case wire::SamplingParams::kGrammar:
      return StructuredOutput{Kind::kGrammar, sampling.grammar(), {}, "grammar"};
    case wire::SamplingParams::kChoice: {
      const auto& choices = sampling.choice().choices();
      return StructuredOutput{Kind::kChoice, {}, {choices.begin(), choices.end()}, "choice"};
    }
    case wire::SamplingParams::kJsonObject:
      if (!sampling.json_object()) break;
      return StructuredOutput{Kind::kJsonObject, {}, {}, "json_object"};
    case wire::SamplingParams::kStructuralTag:  // refused as unsupported
    case wire::SamplingParams::CONSTRAINT_NOT_SET:
      break;
  }
  return std::nullopt;
}

/// Zeros that the contract can't tell from "not given" are its neutral values.
void TakeSampling(const wire::SamplingParams& sampling, CompletionParams& params) {
  params.temperature = sampling.has_temperature() ? sampling.temperature() : 1.0;
  params.top_p = sampling.top_p() == 0 ? 1.0 : sampling.top_p();
  params.top_k = sampling.top_k();
  params.min_p = sampling.min_p();
  params.repetition_penalty =
      sampling.repetition_penalty() == 0 ? 1.0 : sampling.repetition_penalty();
  params.frequency_penalty = sampling.frequency_penalty();
  params.presence_penalty = sampling.presence_penalty();
  params.min_tokens = sampling.min_tokens();
  params.logit_bias.assign(sampling.logit_bias().begin(), sampling.logit_bias().end());
  std::sort(params.logit_bias.begin(), params.logit_bias.end());  // a map's order is any
  if (sampling.has_max_tokens()) params.max_tokens = sampling.max_tokens();
  params.up_to_model_len = true;
  params.stop.assign(sampling.stop().begin(), sampling.stop().end());
  params.stop_token_ids.assign(sampling.stop_token_ids().begin(), sampling.stop_token_ids().end());
  params.include_stop_str_in_output = sampling.include_stop_str_in_output();
  if (sampling.has_truncate_prompt_tokens()) {
    params.truncate_prompt_tokens = sampling.truncate_prompt_tokens();
  }
  params.skip_special_tokens = sampling.skip_special_tokens();
  params.ignore_eos = sampling.ignore_eos();
  if (sampling.has_logprobs()) params.logprobs = sampling.logprobs();
  if (sampling.has_prompt_logprobs()) params.prompt_logprobs = sampling.prompt_logprobs();
  params.structured_output = FormOf(sampling);
  if (sampling.has_seed()) params.seed = static_cast<uint64_t>(int64_t{sampling.seed()});
}

}  // namespace

std::optional<RequestError> ReadGenerateRequest(const wire::GenerateRequest& request,
                                                CompletionParams& params) {
  params.request_id = request.request_id();
  switch (request.input_case()) {
    case wire::GenerateRequest::kText:
      params.prompt = request.text();
      break;
    case wire::GenerateRequest::kTokenized: {
      const auto& ids = request.tokenized().input_ids();
      params.prompt = std::vector<int64_t>(ids.begin(), ids.end());
      break;
    }
    case wire::GenerateRequest::INPUT_NOT_SET:
      return RequestError{ErrorCause::kBadInput,
                          "`input` is missing; it must be given as `tokenized` or as `text`",
                          "input"};
  }
  if (auto error = RefuseUnsupportedFields(request)) return error;
  TakeSampling(request.sampling_params(), params);
  return std::nullopt;
}

}  // namespace affine
