#include "server/api/http/unsupported_fields.h"

#include <string>
#include <utility>

#include "server/api/http/json_text.h"

namespace affine {

namespace {

struct UnsupportedField {
  const char* name;
  const char* neutral;      // JSON; null (not given) is always neutral
  const char* remedy = "";  // what to do instead, if anything
};

// To support a field: read it in answer_fields.cc, or completion_codec.cc or chat_codec.cc, and
// delete its row.
constexpr UnsupportedField kInBoth[] = {
    {"length_penalty", "1"},
    {"use_beam_search", "false"},
    {"spaces_between_special_tokens", "true"},
    {"return_tokens_as_token_ids", "false", "; use return_token_ids"},
    {"truncation_side", "\"left\""},
    {"logits_processors", "[]"},
};

constexpr UnsupportedField kInCompletions[] = {
    {"suffix", "\"\"", "; put all that the answer is to heed into the prompt"},
    {"add_special_tokens", "true",
     "; POST /tokenize with \"add_special_tokens\": false and send the ids as the prompt"},
    {"prompt_embeds", "null"},
};

constexpr UnsupportedField kInChats[] = {
    {"tools", "[]", "; describe them in a message, and read the answer's text yourself"},
    {"tool_choice", "\"none\""},
    {"functions", "[]"},
    {"function_call", "\"none\""},
    {"documents", "[]", "; put them into a message"},
    {"modalities", "[\"text\"]"},
    {"audio", "null"},
    {"prediction", "null"},
    {"web_search_options", "null"},
    {"reasoning_effort", "null",
     "; templates that have such a switch take it from chat_template_kwargs"},
    {"verbosity", "null"},
    {"echo", "false"},
    {"add_special_tokens", "false", "; the chat template writes them"},
    {"chat_template", "null", "; start the server with --chat_template=FILE"},
    {"chat_template_content_format", "\"auto\""},
    {"media_io_kwargs", "null"},
    {"mm_processor_kwargs", "null"},
};

void RefuseIfGiven(const UnsupportedField& field, JsonFields& fields) {
  const nlohmann::json* value = fields.Find(field.name);
  if (value == nullptr || *value == nlohmann::json::parse(field.neutral)) return;
  const std::string subject = "`" + std::string(field.name) + "` is ";
  std::string limit = "; it is not supported yet, only ";
  limit.append(field.neutral).append(" is accepted").append(field.remedy);
  fields.Fail(field.name, subject + JsonExcerpt(*value) + limit,
              subject + JsonKind(*value) + limit);
}

}  // namespace

void RefuseUnsupportedFields(JsonFields& fields, Endpoint endpoint) {
  for (const UnsupportedField& field : kInBoth) RefuseIfGiven(field, fields);
  if (endpoint == Endpoint::kCompletions) {
    for (const UnsupportedField& field : kInCompletions) RefuseIfGiven(field, fields);
  } else {
    for (const UnsupportedField& field : kInChats) RefuseIfGiven(field, fields);
  }
}

}  // namespace affine
