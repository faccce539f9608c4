#include "server/api/http/answer_fields.h"

#include "server/api/http/structured_output_json.h"

namespace affine {

namespace {

using nlohmann::json;

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

void ReadAnswerFields(JsonFields& fields, CompletionBody& body) {
  CompletionParams& params = body.params;
  params.model = fields.String("model").value_or("");
  params.n = fields.Integer("n");
  params.best_of = fields.Integer("best_of");
  ReadSampling(fields, params);
  params.structured_output = ReadStructuredOutput(fields);
  params.stop = fields.Strings("stop");
  params.stop_token_ids = fields.Integers("stop_token_ids");
  params.include_stop_str_in_output = fields.Flag("include_stop_str_in_output").value_or(false);
  params.ignore_eos = fields.Flag("ignore_eos").value_or(false);
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
}

}  // namespace affine
