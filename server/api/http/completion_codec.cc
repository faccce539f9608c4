#include "server/api/http/completion_codec.h"

#include <string>
#include <utility>

#include "server/api/http/answer_fields.h"
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
  ReadPrompts(fields, body.params);
  body.params.max_tokens = fields.Integer("max_tokens");
  body.params.logprobs = fields.Integer("logprobs");
  body.params.echo = fields.Flag("echo").value_or(false);
  ReadAnswerFields(fields, body);
  RefuseUnsupportedFields(fields, Endpoint::kCompletions);
  if (fields.error()) return *fields.error();
  return body;
}

}  // namespace affine
