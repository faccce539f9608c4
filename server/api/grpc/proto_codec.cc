#include "server/api/grpc/proto_codec.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/utf8.h"
#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/stability_codec.h"

namespace affine {

namespace {

std::string TextOf(const Tokenizer& tokenizer, int32_t id) {
  return ReplaceInvalidUtf8(tokenizer.TokenBytes(id));
}

void SetAlternative(int32_t id, float log_prob, const Tokenizer& tokenizer,
                    v1::TokenLogProb::Alternative& alternative) {
  alternative.set_id(id);
  alternative.set_logprob(log_prob);
  alternative.set_text(TextOf(tokenizer, id));
}

template <typename Messages>
void AppendScored(const std::vector<ScoredToken>& tokens, const Tokenizer& tokenizer,
                  Messages* messages) {
  for (const ScoredToken& token : tokens) {
    v1::TokenLogProb& message = *messages->Add();
    message.set_id(token.id);
    message.set_logprob(token.log_prob);
    message.set_rank(token.rank);
    message.set_text(TextOf(tokenizer, token.id));
    for (const auto& [id, log_prob] : token.top) {
      SetAlternative(id, log_prob, tokenizer, *message.add_top());
    }
    for (const auto& [id, log_prob] : token.chosen) {
      SetAlternative(id, log_prob, tokenizer, *message.add_chosen());
    }
  }
}

v1::FinishReason ReasonOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return v1::FINISH_REASON_STOP;
    case FinishReason::kLength:
      return v1::FINISH_REASON_LENGTH;
    case FinishReason::kUnstable:
      return v1::FINISH_REASON_UNSTABLE;
    case FinishReason::kError:
      break;
  }
  return v1::FINISH_REASON_UNSPECIFIED;  // the status says what happened
}

/// What belongs to one answer: the same fields in a chunk of the stream, in the unary answer and in
/// each further one.
template <typename Message>
void AddAnswer(const CompletionChunk& chunk, const Tokenizer& tokenizer, Message& message) {
  message.mutable_text()->append(chunk.text);
  message.mutable_token_ids()->Add(chunk.token_ids.begin(), chunk.token_ids.end());
  AppendScored(chunk.logprobs, tokenizer, message.mutable_logprobs());
  if (!chunk.end) return;
  message.set_finish_reason(ReasonOf(chunk.end->reason));
  if (chunk.end->stability) {
    *message.mutable_stability() = SummaryMessage(*chunk.end->stability);
  }
}

/// What belongs to the call as a whole.
template <typename Message>
void AddCall(const CompletionChunk& chunk, const CompletionCall& call, bool first,
             Message& message) {
  message.set_request_id(call.request_id());
  if (first) {
    message.set_model(call.model_name());
    const std::vector<int32_t>& prompt = call.prompt_token_ids();
    message.mutable_prompt_token_ids()->Add(prompt.begin(), prompt.end());
  }
  if (chunk.answer == 0) {  // every answer has them; they are the same
    AppendScored(chunk.prompt_logprobs, call.tokenizer(), message.mutable_prompt_logprobs());
  }
  if (!chunk.total) return;
  v1::Usage& usage = *message.mutable_usage();
  usage.set_prompt_tokens(chunk.total->prompt_tokens);
  usage.set_cached_tokens(chunk.total->cached_tokens);
  usage.set_output_tokens(chunk.total->output_tokens);
}

const char* NameOf(Denominator denominator) {
  switch (denominator) {
    case Denominator::kOffByOne:
      return "off_by_one";
    case Denominator::kLearnedSink:
      return "learned_sink";
    case Denominator::kSoftmax:
      break;
  }
  return "softmax";
}

const char* NameOf(const std::optional<AffineScale>& affine) {
  if (!affine) return "none";
  return affine->activation == AlphaActivation::kSigmoid ? "sigmoid" : "linear_clipping";
}

const char* NameOf(Gate gate) {
  switch (gate) {
    case Gate::kHeadwise:
      return "headwise";
    case Gate::kElementwise:
      return "elementwise";
    case Gate::kNone:
      break;
  }
  return "none";
}

void TakeSampling(v1::SamplingParams& sampling, CompletionParams& params) {
  if (sampling.has_temperature()) params.temperature = sampling.temperature();
  if (sampling.has_top_k()) params.top_k = sampling.top_k();
  if (sampling.has_top_p()) params.top_p = sampling.top_p();
  if (sampling.has_seed()) params.seed = sampling.seed();
  if (sampling.has_min_p()) params.min_p = sampling.min_p();
  if (sampling.has_typical_p()) params.typical_p = sampling.typical_p();
  if (sampling.has_repetition_penalty()) params.repetition_penalty = sampling.repetition_penalty();
  if (sampling.has_frequency_penalty()) params.frequency_penalty = sampling.frequency_penalty();
  if (sampling.has_presence_penalty()) params.presence_penalty = sampling.presence_penalty();
  params.logit_bias.assign(sampling.logit_bias().begin(), sampling.logit_bias().end());
  std::sort(params.logit_bias.begin(), params.logit_bias.end());  // a map's order is any
  if (sampling.has_allowed_token_ids()) {
    const auto& ids = sampling.allowed_token_ids().ids();
    params.allowed_token_ids.emplace(ids.begin(), ids.end());
  }
  for (std::string& word : *sampling.mutable_bad_words()) {
    params.bad_words.push_back(std::move(word));
  }
  if (sampling.has_min_tokens()) params.min_tokens = sampling.min_tokens();
}

std::optional<RequestError> TakeForm(v1::StructuredOutput& message, CompletionParams& params) {
  using Kind = StructuredOutput::Kind;
  StructuredOutput form;
  switch (message.form_case()) {
    case v1::StructuredOutput::kChoice: {
      auto& choices = *message.mutable_choice()->mutable_choices();
      form = {Kind::kChoice, {}, {choices.begin(), choices.end()}, "structured_output.choice"};
      break;
    }
    case v1::StructuredOutput::kRegex:
      form = {Kind::kRegex, std::move(*message.mutable_regex()), {}, "structured_output.regex"};
      break;
    case v1::StructuredOutput::kJsonSchema:
      form = {Kind::kJsonSchema,
              std::move(*message.mutable_json_schema()),
              {},
              "structured_output.json_schema"};
      break;
    case v1::StructuredOutput::kGrammar:
      form = {
          Kind::kGrammar, std::move(*message.mutable_grammar()), {}, "structured_output.grammar"};
      break;
    case v1::StructuredOutput::kJsonObject:
      if (!message.json_object()) return std::nullopt;
      form = {Kind::kJsonObject, {}, {}, "structured_output.json_object"};
      break;
    case v1::StructuredOutput::FORM_NOT_SET:
      return RequestError{ErrorCause::kBadInput,
                          "`structured_output` has no form; it must have one of `choice`, `regex`, "
                          "`json_schema`, `json_object`, `grammar`",
                          "structured_output"};
  }
  params.structured_output = std::move(form);
  return std::nullopt;
}

ChatPrompt ChatOf(v1::Chat& chat) {
  ChatPrompt prompt;
  for (v1::ChatMessage& message : *chat.mutable_messages()) {
    prompt.messages.push_back({std::move(*message.mutable_role()),
                               std::move(*message.mutable_content()),
                               std::move(*message.mutable_name())});
  }
  if (chat.has_add_generation_prompt()) prompt.add_generation_prompt = chat.add_generation_prompt();
  prompt.continue_final_message = chat.continue_final_message();
  prompt.template_kwargs = std::move(*chat.mutable_chat_template_kwargs());
  return prompt;
}

}  // namespace

std::variant<CompletionParams, RequestError> ParamsOf(v1::CompleteRequest request) {
  CompletionParams params;
  switch (request.prompt_case()) {
    case v1::CompleteRequest::kText:
      params.prompt = std::move(*request.mutable_text());
      break;
    case v1::CompleteRequest::kTokenIds:
      params.prompt =
          std::vector<int64_t>(request.token_ids().ids().begin(), request.token_ids().ids().end());
      break;
    case v1::CompleteRequest::kChat:
      params.prompt = ChatOf(*request.mutable_chat());
      break;
    case v1::CompleteRequest::PROMPT_NOT_SET:
      return RequestError{ErrorCause::kBadInput,
                          "`prompt` is missing; it must be given as `text`, `token_ids` or `chat`",
                          "prompt"};
  }
  params.model = std::move(*request.mutable_model());
  if (request.has_max_tokens()) params.max_tokens = request.max_tokens();
  if (request.has_sampling()) TakeSampling(*request.mutable_sampling(), params);
  for (std::string& stop : *request.mutable_stop()) params.stop.push_back(std::move(stop));
  params.stop_token_ids.assign(request.stop_token_ids().begin(), request.stop_token_ids().end());
  params.include_stop_str_in_output = request.include_stop_str_in_output();
  params.ignore_eos = request.ignore_eos();
  params.echo = request.echo();
  if (request.has_logprobs()) params.logprobs = request.logprobs();
  if (request.has_prompt_logprobs()) params.prompt_logprobs = request.prompt_logprobs();
  params.logprob_token_ids.assign(request.logprob_token_ids().begin(),
                                  request.logprob_token_ids().end());
  if (request.has_truncate_prompt_tokens()) {
    params.truncate_prompt_tokens = request.truncate_prompt_tokens();
  }
  if (request.has_skip_special_tokens()) params.skip_special_tokens = request.skip_special_tokens();
  params.request_id = std::move(*request.mutable_request_id());
  params.priority = request.priority();
  params.cache_salt = std::move(*request.mutable_cache_salt());
  if (request.has_timeout_ms()) params.timeout_ms = request.timeout_ms();
  if (request.has_max_ttft_ms()) params.max_ttft_ms = request.max_ttft_ms();
  if (request.has_max_time_per_token_ms()) {
    params.max_time_per_token_ms = request.max_time_per_token_ms();
  }
  if (request.has_structured_output()) {
    if (auto error = TakeForm(*request.mutable_structured_output(), params)) return *error;
  }
  if (request.has_n()) params.n = request.n();
  if (request.has_best_of()) params.best_of = request.best_of();
  params.stability = request.stability();
  params.stability_heads = request.stability_heads();
  return params;
}

std::optional<RequestError> ReadCompleteRequest(const grpc::ByteBuffer& bytes,
                                                CompletionParams& params) {
  v1::CompleteRequest message;
  if (auto error = ParseMessage(bytes, message)) return error;
  params.request_id = message.request_id();
  auto read = ParamsOf(std::move(message));
  if (auto* error = std::get_if<RequestError>(&read)) return std::move(*error);
  params = std::get<CompletionParams>(std::move(read));
  return std::nullopt;
}

v1::CompleteChunk ChunkMessage(const CompletionChunk& chunk, const CompletionCall& call,
                               bool first) {
  v1::CompleteChunk message;
  AddCall(chunk, call, first, message);
  AddAnswer(chunk, call.tokenizer(), message);
  message.set_index(static_cast<uint32_t>(chunk.answer));
  return message;
}

void AppendChunk(const CompletionChunk& chunk, const CompletionCall& call,
                 v1::CompleteResponse& response) {
  AddCall(chunk, call, response.request_id().empty(), response);
  if (chunk.answer == 0) return AddAnswer(chunk, call.tokenizer(), response);
  while (response.other_answers_size() < chunk.answer) response.add_other_answers();
  AddAnswer(chunk, call.tokenizer(), *response.mutable_other_answers(chunk.answer - 1));
}

v1::ModelDescription DescriptionOf(const ServedModel& model, const std::string& server_version) {
  const ModelInfo& info = model.engine->info();
  v1::ModelDescription message;
  message.set_name(model.name);
  message.set_architecture(info.architecture);
  message.set_dtype(info.dtype);
  message.set_weights(info.weights);
  message.set_device(info.device);
  v1::AttentionDescription& attention = *message.mutable_attention();
  attention.set_denominator(NameOf(info.attention.denominator));
  attention.set_alpha_activation(NameOf(info.attention.affine));
  attention.set_gate(NameOf(info.attention.gate));
  if (info.attention.affine) {
    attention.set_fixed_normalizer(info.attention.affine->fixed_normalizer.value_or(0));
  }
  message.set_vocab_size(info.vocab_size);
  message.set_max_model_len(info.max_model_len);
  message.set_num_layers(info.num_layers);
  message.set_num_heads(info.num_heads);
  message.set_num_kv_heads(info.num_kv_heads);
  message.set_head_dim(info.head_dim);
  message.set_hidden_size(info.hidden_size);
  message.set_num_parameters(info.num_parameters);
  message.set_block_size(info.block_size);
  message.set_num_blocks(info.num_blocks);
  message.set_block_bytes(info.block_bytes);
  message.set_weight_bytes(info.weight_bytes);
  message.mutable_eos_token_ids()->Add(info.eos_token_ids.begin(), info.eos_token_ids.end());
  if (info.bos_token_id >= 0) message.set_bos_token_id(info.bos_token_id);
  message.set_server_version(server_version);
  return message;
}

v1::TokenizeResponse TokensMessage(const ServedModel& model, const std::vector<int32_t>& ids) {
  v1::TokenizeResponse message;
  message.mutable_ids()->Add(ids.begin(), ids.end());
  for (const int32_t id : ids) message.add_tokens(TextOf(*model.tokenizer, id));
  message.set_max_model_len(model.engine->info().max_model_len);
  return message;
}

}  // namespace affine
