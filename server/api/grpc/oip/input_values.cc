#include "server/api/grpc/oip/input_values.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "server/api/grpc/oip/tensor_table.h"

namespace affine {

namespace {

using InputTensor = inference::ModelInferRequest::InferInputTensor;
using Value = std::variant<std::string_view, bool>;

RequestError BadTensor(std::string_view name, const std::string& why) {
  const std::string field(name);
  std::string message = "`";
  message.append(field).append("` ").append(why);
  return {ErrorCause::kBadInput, std::move(message), field};
}

std::string ShapeOf(const InputTensor& input) {
  std::string shape = "[";
  for (int i = 0; i < input.shape_size(); ++i) {
    if (i == 8) return shape + ", ...]";  // of a stranger's message
    shape.append(i == 0 ? "" : ", ").append(std::to_string(input.shape(i)));
  }
  return shape + "]";
}

/// One value: no dimension, or all of them 1.
bool HoldsOne(const InputTensor& input) {
  for (const int64_t dimension : input.shape()) {
    if (dimension != 1) return false;
  }
  return true;
}

std::variant<Value, RequestError> FromContents(const Tensor& tensor,
                                               const inference::InferTensorContents& contents) {
  const bool bytes = tensor.type == TensorType::kBytes;
  const int values = bytes ? contents.bytes_contents_size() : contents.bool_contents_size();
  if (values != 1) {
    return BadTensor(tensor.name, "has " + std::to_string(values) + " values in `contents." +
                                      (bytes ? "bytes" : "bool") + "_contents`; it must have 1");
  }
  if (bytes) return Value(std::string_view(contents.bytes_contents(0)));
  return Value(contents.bool_contents(0));
}

/// BYTES: 4 bytes of length, little-endian, and as many bytes; BOOL: one byte.
std::variant<Value, RequestError> FromRaw(const Tensor& tensor, std::string_view raw) {
  const std::string size = std::to_string(raw.size());
  if (tensor.type == TensorType::kBool) {
    if (raw.size() != 1) {
      return BadTensor(tensor.name, "has " + size + " raw bytes; one BOOL has 1");
    }
    return Value(raw[0] != 0);
  }
  constexpr size_t kPrefix = 4;
  uint64_t length = 0;
  for (size_t i = 0; i < kPrefix && i < raw.size(); ++i) {
    length |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
  }
  if (raw.size() != kPrefix + length) {
    return BadTensor(tensor.name, "has " + size + " raw bytes; one value of BYTES has 4 bytes of " +
                                      "length, here " + std::to_string(length) +
                                      ", and as many more");
  }
  return Value(raw.substr(kPrefix));
}

std::optional<RequestError> CheckForm(const InputTensor& input, const Tensor& tensor) {
  if (input.datatype() != NameOf(tensor.type)) {
    return BadTensor(tensor.name, "is of datatype `" + input.datatype().substr(0, 32) +
                                      "`; it must be " + std::string(NameOf(tensor.type)));
  }
  if (!HoldsOne(input)) {
    return BadTensor(tensor.name, "has the shape " + ShapeOf(input) + "; it must be [1]");
  }
  if (input.parameters().contains("shared_memory_region")) {
    return BadTensor(tensor.name,
                     "lies in shared memory, which is not served; send it in the message");
  }
  return std::nullopt;
}

std::optional<RequestError> CheckRaw(const inference::ModelInferRequest& request) {
  if (request.raw_input_contents_size() == 0) return std::nullopt;
  if (request.raw_input_contents_size() != request.inputs_size()) {
    return BadTensor("raw_input_contents",
                     "has " + std::to_string(request.raw_input_contents_size()) +
                         " entries and `inputs` has " + std::to_string(request.inputs_size()) +
                         "; there must be one for each");
  }
  for (const InputTensor& input : request.inputs()) {
    if (input.has_contents()) {
      return BadTensor("contents", "is given beside `raw_input_contents`; leave one of them out");
    }
  }
  return std::nullopt;
}

}  // namespace

std::variant<InputValues, RequestError> ReadInputs(const inference::ModelInferRequest& request) {
  if (auto error = CheckRaw(request)) return *std::move(error);
  InputValues values;
  for (int i = 0; i < request.inputs_size(); ++i) {
    const InputTensor& input = request.inputs(i);
    const Tensor* tensor = TensorNamed(InputTensors(), input.name());
    if (tensor == nullptr) {
      const std::string why = "is no input of the model; its inputs are " + NamesOf(InputTensors());
      RequestError error = BadTensor(input.name().substr(0, 128), why);
      error.param = "inputs";
      error.log_message = "an input that was given " + why;
      return error;
    }
    if (auto error = CheckForm(input, *tensor)) return *std::move(error);
    auto read = request.raw_input_contents_size() > 0
                    ? FromRaw(*tensor, request.raw_input_contents(i))
                    : FromContents(*tensor, input.contents());
    if (auto* error = std::get_if<RequestError>(&read)) return std::move(*error);
    if (!values.emplace(tensor->name, std::get<Value>(read)).second) {
      return BadTensor(tensor->name, "is given twice; give it once");
    }
  }
  for (const Tensor& tensor : InputTensors()) {
    if (tensor.required && !values.contains(tensor.name)) {
      return BadTensor(tensor.name, "is missing; it must be an input of datatype BYTES, shape [1]");
    }
  }
  return values;
}

}  // namespace affine
