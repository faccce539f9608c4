#include "server/api/http/structured_output_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace affine {

namespace {

using nlohmann::json;
using Kind = StructuredOutput::Kind;

/// Reads the forms that the members of `fields` ask for, under the names that they have there.
class FormReader {
 public:
  /// `path` is put before names where errors and StructuredOutput::field name them.
  FormReader(JsonFields& fields, std::string path) : fields_(fields), path_(std::move(path)) {}

  void Text(const char* name, Kind kind) {
    if (auto text = fields_.String(name)) Add(name, kind).text = *std::move(text);
  }
  void Schema(const char* name) {
    const json* schema = fields_.Find(name);
    if (schema == nullptr) return;
    if (schema->is_string()) {
      Add(name, Kind::kJsonSchema).text = schema->get<std::string>();
    } else if (schema->is_object()) {
      Add(name, Kind::kJsonSchema).text = schema->dump();
    } else {
      fields_.Refuse(name, *schema, "a JSON schema: an object, or its text");
    }
  }
  void Choices(const char* name) {
    if (fields_.Find(name) == nullptr) return;
    std::vector<std::string> choices = fields_.Strings(name);
    if (!fields_.error()) Add(name, Kind::kChoice).choices = std::move(choices);
  }
  void JsonObject(const char* name) {
    if (fields_.Flag(name).value_or(false)) Add(name, Kind::kJsonObject);
  }
  std::vector<StructuredOutput> Take() { return std::move(forms_); }

 private:
  StructuredOutput& Add(const char* name, Kind kind) {
    return forms_.emplace_back(StructuredOutput{kind, {}, {}, path_ + name});
  }

  JsonFields& fields_;
  const std::string path_;
  std::vector<StructuredOutput> forms_;
};

/// Hands what is wrong inside of the member `name` on to the whole.
void PassOn(const JsonFields& inner, std::string_view name, JsonFields& fields) {
  if (const auto& wrong = inner.error()) fields.Fail(name, wrong->message, wrong->log_message);
}

std::vector<StructuredOutput> ReadStructuredOutputs(JsonFields& fields) {
  constexpr char kName[] = "structured_outputs";
  const json* object = fields.Find(kName);
  if (object == nullptr) return {};
  if (!object->is_object()) {
    fields.Refuse(kName, *object, "an object");
    return {};
  }
  JsonFields inner(*object, "structured_outputs.");
  FormReader reader(inner, "structured_outputs.");
  reader.Schema("json");
  reader.Text("regex", Kind::kRegex);
  reader.Choices("choice");
  reader.Text("grammar", Kind::kGrammar);
  reader.JsonObject("json_object");
  for (const char* name : {"whitespace_pattern", "structural_tag"}) {
    if (inner.Find(name) == nullptr) continue;
    inner.Fail(name, "`structured_outputs." + std::string(name) +
                         "` is given; it is not supported, leave it out");
  }
  PassOn(inner, kName, fields);
  std::vector<StructuredOutput> forms = reader.Take();
  if (forms.empty()) {
    fields.Fail(kName,
                "`structured_outputs` has no form; it must have one of `json`, `regex`, `choice`, "
                "`grammar`, `json_object`");
  }
  return forms;
}

std::vector<StructuredOutput> ReadResponseFormat(JsonFields& fields) {
  constexpr char kName[] = "response_format";
  const json* object = fields.Find(kName);
  if (object == nullptr) return {};
  if (!object->is_object()) {
    fields.Refuse(kName, *object, "an object");
    return {};
  }
  JsonFields format(*object, "response_format.");
  const std::string type = format.String("type").value_or("");
  std::vector<StructuredOutput> forms;
  if (type == "json_object") {
    forms.push_back({Kind::kJsonObject, {}, {}, kName});
  } else if (type == "json_schema") {
    const json* wrapper = format.Find("json_schema");
    if (wrapper == nullptr || !wrapper->is_object() || !wrapper->contains("schema")) {
      format.Fail("json_schema",
                  "`response_format.json_schema.schema` is missing; it must be a JSON schema");
    } else {
      JsonFields inner(*wrapper, "response_format.json_schema.");
      FormReader reader(inner, "response_format.json_schema.");
      reader.Schema("schema");
      PassOn(inner, "json_schema", format);
      forms = reader.Take();
    }
  } else if (type != "text" && !format.error()) {
    const json* given = format.Find("type");
    format.Refuse("type", given == nullptr ? json() : *given,
                  "\"text\", \"json_object\" or \"json_schema\"");
  }
  PassOn(format, kName, fields);
  return forms;
}

}  // namespace

std::optional<StructuredOutput> ReadStructuredOutput(JsonFields& fields) {
  FormReader reader(fields, "");
  reader.Schema("guided_json");
  reader.Text("guided_regex", Kind::kRegex);
  reader.Choices("guided_choice");
  reader.Text("guided_grammar", Kind::kGrammar);
  std::vector<StructuredOutput> forms = reader.Take();
  for (StructuredOutput& form : ReadStructuredOutputs(fields)) forms.push_back(std::move(form));
  for (StructuredOutput& form : ReadResponseFormat(fields)) forms.push_back(std::move(form));
  if (forms.empty()) return std::nullopt;
  if (forms.size() > 1) {
    fields.Fail(forms[1].field, "`" + forms[0].field + "` and `" + forms[1].field +
                                    "` are both given; the output can have one form, so give one");
  }
  return std::move(forms.front());
}

void KeepSchemaOrder(std::string_view body, StructuredOutput& form) {
  if (form.kind != Kind::kJsonSchema) return;
  const auto whole = nlohmann::ordered_json::parse(body, nullptr, /*allow_exceptions=*/false);
  const nlohmann::ordered_json* at = &whole;
  std::string_view left = form.field;
  while (!left.empty()) {
    const size_t dot = left.find('.');
    const auto found = at->find(std::string(left.substr(0, dot)));
    if (found == at->end()) return;
    at = &*found;
    left.remove_prefix(dot == std::string_view::npos ? left.size() : dot + 1);
  }
  if (at->is_object()) form.text = at->dump();
}

}  // namespace affine
