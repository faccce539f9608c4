// The tensors of a served model, as Triton's vLLM backend names them.
#pragma once

#include <span>
#include <string_view>

#include "inference/model_config.pb.h"

namespace affine {

enum class TensorType { kBytes, kBool, kUint32, kFp32 };

/// Of one value, shape [1].
struct Tensor {
  std::string_view name;
  TensorType type;
  bool required = false;  // of an input
  std::string_view flag;  // of an output: the input that asks for it; empty: it comes unasked
};

inline constexpr Tensor kTextInput{"text_input", TensorType::kBytes, true, ""};
inline constexpr std::string_view kSamplingParameters = "sampling_parameters";
inline constexpr std::string_view kStream = "stream";
inline constexpr std::string_view kExcludeInput = "exclude_input_in_output";

/// Static; the first is kTextInput.
std::span<const Tensor> InputTensors();

/// Places in OutputTensors().
enum Output {
  kTextOutput,
  kFinishReason,
  kCumulativeLogProb,
  kLogProbs,
  kNumInputTokens,
  kNumOutputTokens,
};
std::span<const Tensor> OutputTensors();

/// Null if there is none.
const Tensor* TensorNamed(std::span<const Tensor> tensors, std::string_view name);

/// "`a`, `b`"
std::string NamesOf(std::span<const Tensor> tensors);

/// "BYTES"
std::string_view NameOf(TensorType type);
inference::DataType DataTypeOf(TensorType type);

}  // namespace affine
