#include "server/api/http/chat_codec.h"

#include <string>
#include <utility>

#include "server/api/http/answer_fields.h"
#include "server/api/http/json_text.h"
#include "server/api/http/structured_output_json.h"
#include "server/api/http/unsupported_fields.h"

namespace affine {

namespace {

using nlohmann::json;

constexpr std::string_view kContentShapes =
    "a string or an array of parts {\"type\": \"text\", \"text\": \"...\"}";

/// Members of a message that say more than its text does.
constexpr const char* kUnsupportedMembers[] = {"tool_calls", "tool_call_id", "function_call",
                                               "audio"};

// The texts of several parts, with a line break between them, as vLLM gives them to templates.
std::string ReadParts(JsonFields& fields, const json& parts, const std::string& name) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part_name = name + "[" + std::to_string(i) + "]";
    const json& part = parts[i];
    if (i > 0) text += '\n';
    if (part.is_string()) {
      text += part.get_ref<const std::string&>();
      continue;
    }
    const json type = part.is_object() ? part.value("type", json("text")) : json();
    if (type != "text") {
      const json& shown = part.is_object() ? type : part;
      fields.Refuse(part.is_object() ? part_name + ".type" : part_name, shown,
                    "\"text\": this server reads text alone, no images, sounds or files");
      return text;
    }
    const json content = part.value("text", json());
    if (!content.is_string()) {
      fields.Refuse(part_name + ".text", content, "a string");
      return text;
    }
    text += content.get_ref<const std::string&>();
  }
  return text;
}

ChatMessage ReadMessage(JsonFields& fields, const json& message, const std::string& name) {
  ChatMessage read;
  if (!message.is_object()) {
    fields.Refuse(name, message, "an object with `role` and `content`");
    return read;
  }
  const auto text = [&](const char* member, bool needed) -> std::string {
    const json value = message.value(member, json());
    if (value.is_string()) return value.get<std::string>();
    if (needed || !value.is_null()) fields.Refuse(name + "." + member, value, "a string");
    return {};
  };
  read.role = text("role", true);
  read.name = text("name", false);
  for (const char* member : kUnsupportedMembers) {
    const json value = message.value(member, json());
    if (value.is_null() || (value.is_array() && value.empty())) continue;
    fields.Fail(name,
                "`" + name + "." + member +
                    "` is given; calls of tools are not supported yet, only messages of text");
  }
  const json content = message.value("content", json());
  if (content.is_string()) {
    read.content = content.get<std::string>();
  } else if (content.is_array()) {
    read.content = ReadParts(fields, content, name + ".content");
  } else {
    fields.Refuse(name + ".content", content, kContentShapes);
  }
  return read;
}

// OpenAI's newer name for a chat's max_tokens; both may be given if they agree.
std::optional<int64_t> ReadMaxTokens(JsonFields& fields) {
  const auto newer = fields.Integer("max_completion_tokens");
  const auto older = fields.Integer("max_tokens");
  if (newer && older && *newer != *older) {
    fields.Fail("max_tokens", "`max_tokens` is " + std::to_string(*older) +
                                  " and `max_completion_tokens` is " + std::to_string(*newer) +
                                  "; they mean the same: leave one out");
  }
  return newer ? newer : older;
}

// `logprobs` says whether, `top_logprobs` how many beside the chosen one.
std::optional<int64_t> ReadLogProbs(JsonFields& fields) {
  const bool wanted = fields.Flag("logprobs").value_or(false);
  const auto top = fields.Integer("top_logprobs");
  if (wanted) return top.value_or(0);
  if (top.value_or(0) != 0) {
    fields.Fail("top_logprobs",
                "`top_logprobs` is " + std::to_string(*top) +
                    " without \"logprobs\": true; set it, or leave top_logprobs out");
  }
  return std::nullopt;
}

}  // namespace

ChatPrompt ReadChat(JsonFields& fields) {
  ChatPrompt chat;
  const json* messages = fields.Find("messages");
  if (messages == nullptr) {
    fields.Fail("messages", "`messages` is missing; it must be an array of messages");
    return chat;
  }
  if (!messages->is_array()) {
    fields.Refuse("messages", *messages, "an array of messages");
    return chat;
  }
  for (size_t i = 0; i < messages->size() && !fields.error(); ++i) {
    const std::string name = "messages[" + std::to_string(i) + "]";
    chat.messages.push_back(ReadMessage(fields, (*messages)[i], name));
  }
  chat.add_generation_prompt = fields.Flag("add_generation_prompt");
  chat.continue_final_message = fields.Flag("continue_final_message").value_or(false);
  if (const json* kwargs = fields.Find("chat_template_kwargs")) {
    if (!kwargs->is_object()) fields.Refuse("chat_template_kwargs", *kwargs, "an object");
    chat.template_kwargs = kwargs->dump();
  }
  return chat;
}

std::variant<CompletionBody, RequestError> ParseChatBody(std::string_view text) {
  auto parsed = ParseJsonObject(text);
  if (auto* error = std::get_if<RequestError>(&parsed)) return std::move(*error);
  JsonFields fields(std::get<json>(parsed));
  CompletionBody body;
  body.chat = true;
  body.params.prompt = ReadChat(fields);
  body.params.max_tokens = ReadMaxTokens(fields);
  body.params.logprobs = ReadLogProbs(fields);
  ReadAnswerFields(fields, body);
  RefuseUnsupportedFields(fields, Endpoint::kChat);
  if (fields.error()) return *fields.error();
  if (body.params.structured_output) KeepSchemaOrder(text, *body.params.structured_output);
  return body;
}

}  // namespace affine
