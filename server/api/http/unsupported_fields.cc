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

// To support a field: read it in completion_codec.cc and delete its row.
constexpr UnsupportedField kUnsupported[] = {
    {"suffix", "\"\"", "; put all that the answer is to heed into the prompt"},
    {"length_penalty", "1"},
    {"use_beam_search", "false"},
    {"spaces_between_special_tokens", "true"},
    {"add_special_tokens", "true",
     "; POST /tokenize with \"add_special_tokens\": false and send the ids as the prompt"},
    {"return_tokens_as_token_ids", "false", "; use return_token_ids"},
    {"truncation_side", "\"left\""},
    {"prompt_embeds", "null"},
    {"logits_processors", "[]"},
};

}  // namespace

void RefuseUnsupportedFields(JsonFields& fields) {
  for (const UnsupportedField& field : kUnsupported) {
    const nlohmann::json* value = fields.Find(field.name);
    if (value == nullptr || *value == nlohmann::json::parse(field.neutral)) continue;
    const std::string subject = "`" + std::string(field.name) + "` is ";
    std::string limit = "; it is not supported yet, only ";
    limit.append(field.neutral).append(" is accepted").append(field.remedy);
    fields.Fail(field.name, subject + JsonExcerpt(*value) + limit,
                subject + JsonKind(*value) + limit);
  }
}

}  // namespace affine
