#include "server/api/http/completion_codec.h"

#include <string>
#include <utility>

#include "server/api/http/json_fields.h"
#include "server/api/http/json_text.h"
#include "server/api/http/structured_output_json.h"
#include "server/api/http/unsupported_fields.h"

namespace affine {

namespace {

using nlohmann::json;

constexpr std::string_view kPromptShape = "a string or an array of token ids";
constexpr std::string_view kPromptShapes =
    "a string, an array of token ids, or an array of such prompts";

Prompt ReadPrompt(JsonFields& fields, const json& prompt, const std::string& name,
                  std::string_view shape) {
  if (prompt.is_string()) return prompt.get<std::string>();
  if (prompt.is_array()) return fields.IntegersOf(prompt, name);
  fields.Refuse(name, prompt, shape);
  return {};
}

// A string, a list of ids, or a list of these.
void ReadPrompts(JsonFields& fields, CompletionParams& params) {
  const json* prompt = fields.Find("prompt");
  if (prompt == nullptr) {
    return fields.Fail("prompt", "`prompt` is missing; it must be " + std::string(kPromptShapes));
  }
  const bool several = prompt->is_array() && !prompt->empty() &&
                       (prompt->front().is_string() || prompt->front().is_array());
  if (!several) {
    params.prompt = ReadPrompt(fields, *prompt, "prompt", kPromptShapes);
    return;
  }
  for (size_t i = 0; i < prompt->size() && !fields.error(); ++i) {
    const std::string name = "prompt[" + std::to_string(i) + "]";
    Prompt one = ReadPrompt(fields, (*prompt)[i], name, kPromptShape);
    (i == 0 ? params.prompt : params.more_prompts.emplace_back()) = std::move(one);
  }
}

void ReadSampling(JsonFields& fields, CompletionParams& params) {
  params.temperature = fields.Number("temperature");
  params.top_k = fields.Integer("top_k");
  params.top_p = fields.Number("top_p");
  params.seed = fields.Bits("seed");
  params.min_p = fields.Number("min_p");
  params.typical_p = fields.Number("typical_p");
  params.repetition_penalty = fields.Number("repetition_penalty");
  params.frequency_penalty = fields.Number("frequency_penalty");
  params.presence_penalty = fields.Number("presence_penalty");
  params.logit_bias = fields.NumbersById("logit_bias");
  if (fields.Find("allowed_token_ids") != nullptr) {
    params.allowed_token_ids = fields.Integers("allowed_token_ids");
  }
  params.bad_words = fields.Strings("bad_words");
  params.min_tokens = fields.Integer("min_tokens");
}

void ReadStreamOptions(JsonFields& fields, CompletionBody& body) {
  const json* options = fields.Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields.Refuse("stream_options", *options, "an object");
  if (!body.stream) {
    return fields.Fail("stream_options",
                       "`stream_options` is given without \"stream\": true; leave it out");
  }
  JsonFields inner(*options, "stream_options.");
  body.include_usage = inner.Flag("include_usage").value_or(false);
  body.continuous_usage =
      inner.Flag("continuous_usage_stats").value_or(false) && body.include_usage;
  if (const auto& wrong = inner.error()) {
    fields.Fail("stream_options", wrong->message, wrong->log_message);
  }
}

}  // namespace

std::variant<CompletionBody, RequestError> ParseCompletionBody(std::string_view text) {
  auto parsed = ParseJsonObject(text);
  if (auto* error = std::get_if<RequestError>(&parsed)) return std::move(*error);
  auto read = ReadCompletionBody(std::get<json>(parsed));
  if (auto* body = std::get_if<CompletionBody>(&read); body && body->params.structured_output) {
    KeepSchemaOrder(text, *body->params.structured_output);
  }
  return read;
}

std::variant<CompletionBody, RequestError> ReadCompletionBody(const json& object) {
  JsonFields fields(object);
  CompletionBody body;
  CompletionParams& params = body.params;
  params.model = fields.String("model").value_or("");
  ReadPrompts(fields, params);
  params.n = fields.Integer("n");
  params.best_of = fields.Integer("best_of");
  params.max_tokens = fields.Integer("max_tokens");
  ReadSampling(fields, params);
  params.structured_output = ReadStructuredOutput(fields);
  params.stop = fields.Strings("stop");
  params.stop_token_ids = fields.Integers("stop_token_ids");
  params.include_stop_str_in_output = fields.Flag("include_stop_str_in_output").value_or(false);
  params.ignore_eos = fields.Flag("ignore_eos").value_or(false);
  params.echo = fields.Flag("echo").value_or(false);
  params.logprobs = fields.Integer("logprobs");
  params.prompt_logprobs = fields.Integer("prompt_logprobs");
  params.logprob_token_ids = fields.Integers("logprob_token_ids");
  params.truncate_prompt_tokens = fields.Integer("truncate_prompt_tokens");
  params.skip_special_tokens = fields.Flag("skip_special_tokens").value_or(true);
  params.request_id = fields.String("request_id").value_or("");
  params.priority = fields.Integer("priority").value_or(0);
  params.cache_salt = fields.String("cache_salt").value_or("");
  params.timeout_ms = fields.Integer("timeout_ms");
  params.max_ttft_ms = fields.Integer("max_ttft_ms");
  params.max_time_per_token_ms = fields.Number("max_time_per_token_ms");
  params.stability = fields.Flag("stability").value_or(false);
  params.stability_heads = fields.Flag("stability_heads").value_or(false);
  body.stream = fields.Flag("stream").value_or(false);
  params.stream = body.stream;
  body.return_token_ids = fields.Flag("return_token_ids").value_or(false);
  ReadStreamOptions(fields, body);
  RefuseUnsupportedFields(fields);
  if (fields.error()) return *fields.error();
  return body;
}

}  // namespace affine
