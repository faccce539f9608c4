#include "server/api/grpc/oip/tensor_table.h"

#include <string>

namespace affine {

namespace {

using enum TensorType;

constexpr Tensor kInputs[] = {
    kTextInput,
    {kStream, kBool, false, ""},
    {kSamplingParameters, kBytes, false, ""},
    {kExcludeInput, kBool, false, ""},
    {"return_finish_reason", kBool, false, ""},
    {"return_cumulative_logprob", kBool, false, ""},
    {"return_logprobs", kBool, false, ""},
    {"return_num_input_tokens", kBool, false, ""},
    {"return_num_output_tokens", kBool, false, ""},
};

// In the order of Output.
constexpr Tensor kOutputs[] = {
    {"text_output", kBytes, false, ""},
    {"finish_reason", kBytes, false, "return_finish_reason"},
    {"cumulative_logprob", kFp32, false, "return_cumulative_logprob"},
    {"logprobs", kBytes, false, "return_logprobs"},
    {"num_input_tokens", kUint32, false, "return_num_input_tokens"},
    {"num_output_tokens", kUint32, false, "return_num_output_tokens"},
};

}  // namespace

std::span<const Tensor> InputTensors() { return kInputs; }

std::span<const Tensor> OutputTensors() { return kOutputs; }

const Tensor* TensorNamed(std::span<const Tensor> tensors, std::string_view name) {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string NamesOf(std::span<const Tensor> tensors) {
  std::string names;
  for (const Tensor& tensor : tensors) {
    names.append(names.empty() ? "`" : ", `").append(tensor.name).append("`");
  }
  return names;
}

std::string_view NameOf(TensorType type) {
  switch (type) {
    case kBytes:
      return "BYTES";
    case kBool:
      return "BOOL";
    case kUint32:
      return "UINT32";
    case kFp32:
      break;
  }
  return "FP32";
}

inference::DataType DataTypeOf(TensorType type) {
  switch (type) {
    case kBytes:
      return inference::TYPE_STRING;
    case kBool:
      return inference::TYPE_BOOL;
    case kUint32:
      return inference::TYPE_UINT32;
    case kFp32:
      break;
  }
  return inference::TYPE_FP32;
}

}  // namespace affine
