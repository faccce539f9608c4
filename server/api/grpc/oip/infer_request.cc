#include "server/api/grpc/oip/infer_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/api/grpc/oip/input_values.h"
#include "server/api/grpc/oip/sampling_fields.h"
#include "server/api/http/completion_codec.h"
#include "server/api/http/json_fields.h"
#include "server/request/request_id.h"

namespace affine {

namespace {

using nlohmann::json;

/// A flag that may come as a tensor or as a parameter; the latter is taken out of `fields`.
std::optional<bool> TakeFlag(const InputValues& values, json& fields, JsonFields& reader,
                             std::string_view name) {
  std::optional<bool> flag = reader.Flag(name);
  fields.erase(std::string(name));
  if (const auto found = values.find(name); found != values.end()) {
    flag = std::get<bool>(found->second);
  }
  return flag;
}

/// Which outputs the request lists, or by default what its flags ask for.
std::optional<RequestError> TakeOutputs(const inference::ModelInferRequest& request,
                                        const std::vector<Output>& flagged, InferForm& form) {
  if (request.outputs_size() == 0) form.outputs = flagged;
  for (const auto& wanted : request.outputs()) {
    const Tensor* tensor = TensorNamed(OutputTensors(), wanted.name());
    std::string why;
    if (tensor == nullptr) {
      why = " is no output of the model; its outputs are " + NamesOf(OutputTensors());
    } else if (wanted.parameters().contains("shared_memory_region")) {
      why = " is to go to shared memory, which is not served; take it from the message";
    }
    if (!why.empty()) {
      std::string subject = "`";
      subject.append(wanted.name(), 0, 128).append("`");
      return RequestError{.cause = ErrorCause::kBadInput,
                          .message = subject + why,
                          .param = "outputs",
                          .log_message = "an output that was asked for" + why};
    }
    const auto output = static_cast<Output>(tensor - OutputTensors().data());
    if (std::count(form.outputs.begin(), form.outputs.end(), output) == 0) {
      form.outputs.push_back(output);
    }
  }
  return std::nullopt;
}

/// Triton's own parameters. A timeout is microseconds there; 0 is none.
void TakeTritonParameters(json& fields, JsonFields& reader, InferForm& form) {
  form.raw = reader.Flag("binary_data_output").value_or(true);
  const std::optional<int64_t> timeout = reader.Integer("timeout");
  if (timeout.value_or(0) < 0) reader.Refuse("timeout", fields["timeout"], "microseconds, or 0");
  if (timeout.value_or(0) > 0 && !fields.contains("timeout_ms")) {
    fields["timeout_ms"] = (*timeout - 1) / 1000 + 1;
  }
  if (const json* sequence = reader.Find("sequence_id");
      sequence != nullptr && *sequence != json(0) && *sequence != json("")) {
    reader.Refuse("sequence_id", *sequence,
                  "left out: requests here stand alone, so send the whole prompt each time");
  }
}

/// An answer has one text here.
void RefuseSeveral(JsonFields& reader) {
  for (const char* name : {"n", "best_of"}) {
    const std::optional<int64_t> count = reader.Integer(name);
    if (count.value_or(1) != 1) {
      reader.Refuse(name, *reader.Find(name),
                    "1: send the request several times with different seeds");
    }
  }
}

}  // namespace

std::optional<RequestError> CheckVersion(const std::string& version) {
  if (version.empty() || version == kModelVersion) return std::nullopt;
  const std::string why = "; every model has the one version \"1\", which may be left out";
  return RequestError{
      .cause = ErrorCause::kUnknownModel,
      .message = "the model's version `" + version.substr(0, 64) + "` is not served here" + why,
      .param = "model_version",
      .log_message = "a version that is not served here" + why};
}

std::optional<RequestError> ReadInferRequest(const inference::ModelInferRequest& request,
                                             InferForm& form, CompletionParams& params) {
  form.model_name = request.model_name();
  form.id = request.id();
  // Any text may be an id here; one that is not fit for a log line stays the caller's own.
  const std::string log_id = CheckRequestId(form.id) ? "" : form.id;
  params.request_id = log_id;
  if (auto error = CheckVersion(request.model_version())) return error;
  auto read = ReadInputs(request);
  if (auto* error = std::get_if<RequestError>(&read)) return std::move(*error);
  const auto& values = std::get<InputValues>(read);
  const auto text_of = [&](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string_view() : std::get<std::string_view>(found->second);
  };
  auto merged = SamplingFields(request.parameters(), text_of(kSamplingParameters));
  if (auto* error = std::get_if<RequestError>(&merged)) return std::move(*error);
  json& fields = std::get<json>(merged);
  JsonFields reader(fields);
  form.stream = TakeFlag(values, fields, reader, kStream).value_or(false);
  const bool exclude = TakeFlag(values, fields, reader, kExcludeInput).value_or(form.stream);
  std::vector<Output> flagged = {kTextOutput};
  for (const Tensor& output : OutputTensors()) {
    if (output.flag.empty() || !TakeFlag(values, fields, reader, output.flag).value_or(false)) {
      continue;
    }
    flagged.push_back(static_cast<Output>(&output - OutputTensors().data()));
  }
  TakeTritonParameters(fields, reader, form);
  RefuseSeveral(reader);
  if (reader.error()) return *reader.error();
  if (auto error = TakeOutputs(request, flagged, form)) return error;
  fields["model"] = request.model_name();
  fields["prompt"] = text_of(kTextInput.name);
  fields.erase("stream_options");
  auto body = ReadCompletionBody(fields);
  if (auto* error = std::get_if<RequestError>(&body)) return std::move(*error);
  params = std::move(std::get<CompletionBody>(body).params);
  if (params.request_id.empty()) params.request_id = log_id;
  if (!exclude && !params.echo) form.prepended = text_of(kTextInput.name);
  const bool sums = std::count(form.outputs.begin(), form.outputs.end(), kCumulativeLogProb) > 0;
  if (sums && !params.logprobs) params.logprobs = 0;
  return std::nullopt;
}

}  // namespace affine
