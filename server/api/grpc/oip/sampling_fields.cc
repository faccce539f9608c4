#include "server/api/grpc/oip/sampling_fields.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/api/grpc/oip/tensor_table.h"
#include "server/api/http/json_text.h"

namespace affine {

namespace {

using nlohmann::json;

/// Fields whose value is a text, or may be.
constexpr std::string_view kTexts[] = {"stop",       "bad_words", "cache_salt",
                                       "request_id", "suffix",    "user"};

json ValueOf(const inference::InferParameter& parameter) {
  using Parameter = inference::InferParameter;
  switch (parameter.parameter_choice_case()) {
    case Parameter::kBoolParam:
      return parameter.bool_param();
    case Parameter::kInt64Param:
      return parameter.int64_param();
    case Parameter::kStringParam:
      return parameter.string_param();
    case Parameter::kDoubleParam:
      return parameter.double_param();
    case Parameter::kUint64Param:
      return parameter.uint64_param();
    case Parameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return nullptr;
}

/// What `text` says as JSON, or the text itself.
json Untexted(std::string text) {
  if (text == "True" || text == "False") return text == "True";  // Python's spelling
  auto parsed = ParseJsonObject("{\"value\":" + text + "}");
  auto* object = std::get_if<json>(&parsed);
  const bool one = object != nullptr && object->size() == 1 && object->contains("value");
  return one ? (*object)["value"] : json(std::move(text));
}

void Put(json& fields, const std::string& name, json value) {
  const bool text = std::count(std::begin(kTexts), std::end(kTexts), name) > 0;
  if (value.is_string() && !text) value = Untexted(std::move(value.get_ref<std::string&>()));
  fields[name] = std::move(value);
}

/// An error about "the body" in the tensor's name.
RequestError InTensor(RequestError error) {
  std::string subject = "`";
  subject.append(kSamplingParameters).append("`");
  for (std::string* message : {&error.message, &error.log_message}) {
    if (message->starts_with("the body")) message->replace(0, 8, subject);
  }
  error.param = kSamplingParameters;
  return error;
}

}  // namespace

std::variant<json, RequestError> SamplingFields(
    const google::protobuf::Map<std::string, inference::InferParameter>& parameters,
    std::string_view text) {
  json fields = json::object();
  for (const auto& [name, parameter] : parameters) Put(fields, name, ValueOf(parameter));
  if (text.empty()) return fields;
  auto parsed = ParseJsonObject(text);
  if (auto* error = std::get_if<RequestError>(&parsed)) return InTensor(std::move(*error));
  for (auto& [name, value] : std::get<json>(parsed).items()) {
    Put(fields, name, std::move(value));
  }
  return fields;
}

}  // namespace affine
