#include "server/api/grpc/oip/infer_answer.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/utf8.h"
#include "server/api/http/json_text.h"

namespace affine {

namespace {

using nlohmann::ordered_json;

template <typename Value>
void Append(std::vector<Value>&& more, std::vector<Value>& all) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string ReasonOf(const std::optional<CompletionEnd>& end) {
  if (!end) return "None";
  switch (end->reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kUnstable:
      return "unstable";
    case FinishReason::kError:
      break;
  }
  return "error";
}

/// JSON has no infinity; OpenAI's legacy shape shows it the same way.
double Shown(float log_prob) { return std::isfinite(log_prob) ? log_prob : -9999.0; }

/// {id: {logprob, rank, decoded_token}}: the token and its alternatives, ranked from 1 on.
ordered_json LogProbsOf(const ScoredToken& token, const Tokenizer& tokenizer) {
  ordered_json object = ordered_json::object();
  const auto add = [&](int32_t id, float log_prob, int64_t rank) {
    object[std::to_string(id)] = {{"logprob", Shown(log_prob)},
                                  {"rank", rank},
                                  {"decoded_token", ReplaceInvalidUtf8(tokenizer.TokenBytes(id))}};
  };
  add(token.id, token.log_prob, token.rank);
  int64_t rank = 0;
  for (const auto& [id, log_prob] : token.top) {
    ++rank;
    if (id != token.id) add(id, log_prob, rank);
  }
  return object;
}

std::string LittleEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

}  // namespace

InferAnswer::InferAnswer(InferForm form, bool whole) : form_(std::move(form)), whole_(whole) {
  gathered_.text = std::exchange(form_.prepended, std::string());
}

void InferAnswer::Gather(CompletionChunk chunk) {
  for (const ScoredToken& token : chunk.logprobs) log_prob_ += token.log_prob;
  gathered_.text += chunk.text;
  Append(std::move(chunk.token_ids), gathered_.token_ids);
  Append(std::move(chunk.logprobs), gathered_.logprobs);
  if (chunk.end) gathered_.end = std::move(chunk.end);
}

inference::ModelInferResponse InferAnswer::Take(const CompletionCall& call) {
  inference::ModelInferResponse response;
  response.set_model_name(call.model_name());
  response.set_model_version(kModelVersion);
  response.set_id(form_.id);
  for (const Output output : form_.outputs) AddOutput(output, call, response);
  gathered_ = CompletionChunk();
  return response;
}

std::string InferAnswer::TextOf(Output output, const CompletionCall& call) const {
  if (output == kTextOutput) return gathered_.text;
  if (output == kFinishReason) return ReasonOf(gathered_.end);
  if (gathered_.logprobs.size() < gathered_.token_ids.size()) return "null";  // none asked for
  ordered_json list = ordered_json::array();
  for (const ScoredToken& token : gathered_.logprobs) {
    list.push_back(LogProbsOf(token, call.tokenizer()));
  }
  return JsonText(list);
}

void InferAnswer::AddOutput(Output output, const CompletionCall& call,
                            inference::ModelInferResponse& response) const {
  const Tensor& tensor = OutputTensors()[output];
  auto& message = *response.add_outputs();
  message.set_name(std::string(tensor.name));
  message.set_datatype(std::string(NameOf(tensor.type)));
  message.add_shape(1);
  auto* contents = form_.raw ? nullptr : message.mutable_contents();
  if (tensor.type == TensorType::kBytes) {
    std::string text = TextOf(output, call);
    if (contents != nullptr) return contents->add_bytes_contents(std::move(text));
    std::string& raw = *response.add_raw_output_contents();
    raw = LittleEndian(static_cast<uint32_t>(text.size()));
    raw += text;
  } else if (tensor.type == TensorType::kFp32) {
    const auto sum = static_cast<float>(log_prob_);
    if (contents != nullptr) return contents->add_fp32_contents(sum);
    uint32_t bits;
    static_assert(sizeof(bits) == sizeof(sum));
    std::memcpy(&bits, &sum, sizeof(bits));
    response.add_raw_output_contents(LittleEndian(bits));
  } else {
    const size_t count =
        output == kNumInputTokens ? call.prompt_token_ids().size() : gathered_.token_ids.size();
    if (contents != nullptr) return contents->add_uint_contents(count);
    response.add_raw_output_contents(LittleEndian(static_cast<uint32_t>(count)));
  }
}

void SetFinal(bool final, inference::ModelInferResponse& response) {
  (*response.mutable_parameters())["triton_final_response"].set_bool_param(final);
}

inference::ModelStreamInferResponse FailedResponse(const InferForm& form,
                                                   const std::string& error) {
  inference::ModelStreamInferResponse response;
  response.set_error_message(error);
  inference::ModelInferResponse& about = *response.mutable_infer_response();
  about.set_id(form.id);
  about.set_model_name(form.model_name);
  about.set_model_version(kModelVersion);
  SetFinal(true, about);
  return response;
}

}  // namespace affine
