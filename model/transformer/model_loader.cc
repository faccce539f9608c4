#include "model/model_loader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/available_memory.h"
#include "model/model_error.h"
#include "model/transformer/memory_need.h"
#include "model/transformer/transformer_model.h"

namespace affine {
namespace {

ElementType ChooseElement(const LoadOptions& options, TensorDtype stored) {
  if (options.dtype == "float32") return ElementType::kFloat32;
  if (options.dtype == "bfloat16") return ElementType::kBfloat16;
  if (options.dtype == "auto") {
    const bool as_stored = options.weights == "auto";  // integers take rows of bfloat16
    return as_stored && stored == TensorDtype::kFloat32 ? ElementType::kFloat32
                                                        : ElementType::kBfloat16;
  }
  throw ModelError("--dtype=" + options.dtype +
                   " is not there on the CPU; choose auto, float32 or bfloat16");
}

WeightFormat ChooseWeights(const LoadOptions& options, ElementType element) {
  const bool floats = element == ElementType::kFloat32;
  if (options.weights == "auto") return floats ? WeightFormat::kFloat32 : WeightFormat::kBfloat16;
  if (options.weights != "int8" && options.weights != "int4") {
    throw ModelError("--weights=" + options.weights + " is unknown; choose auto, int8 or int4");
  }
  if (floats) {
    throw ModelError("--weights=" + options.weights +
                     " multiplies rows of bfloat16 and can't go with --dtype=float32; leave "
                     "--dtype out, or take --weights=auto");
  }
  return options.weights == "int8" ? WeightFormat::kInt8 : WeightFormat::kInt4;
}

void CheckDevice(const std::string& device) {
  if (device == "cpu") return;
  if (device == "cuda") {
    throw DeviceError("--device=cuda: this build has no CUDA kernels; use --device=cpu");
  }
  throw DeviceError("--device=" + device + " is unknown; choose cpu");
}

void CheckShape(const ModelConfig& config, int32_t block_size) {
  if (config.head_dim % kPanelWidth != 0) {
    throw ModelError("config.json: head_dim is " + std::to_string(config.head_dim) +
                     "; this server computes with multiples of 16");
  }
  if (config.hidden_size % 2 != 0 || config.intermediate_size % 2 != 0) {
    throw ModelError("config.json: hidden_size and intermediate_size must be even");
  }
  if (block_size < kPanelWidth || block_size > 256 || block_size % kPanelWidth != 0) {
    throw ModelError("--block_size=" + std::to_string(block_size) +
                     "; it must be a multiple of 16 in [16, 256]");
  }
}

int32_t ChooseLength(const ModelConfig& config, int32_t asked) {
  const int32_t most = config.MaxLength();
  if (asked <= 0) return most;
  if (asked > most) {
    throw ModelError("--max_model_len=" + std::to_string(asked) +
                     " is over what the checkpoint allows, " + std::to_string(most));
  }
  return asked;
}

KvCacheShape PlanCache(const ModelConfig& config, const LoadOptions& options, ElementType element,
                       int32_t length) {
  KvCacheShape shape;
  shape.num_layers = config.num_layers;
  shape.num_kv_heads = config.num_kv_heads;
  shape.head_dim = config.head_dim;
  shape.block_size = options.block_size;
  shape.element = element;
  shape.value_sums = config.attention.affine.has_value();
  shape.num_blocks = std::min<int64_t>(options.kv_cache_bytes / shape.block_bytes(), 1 << 30);
  const int64_t needed = (length + options.block_size - 1) / options.block_size;
  if (shape.num_blocks < needed) {
    const int64_t bytes = needed * shape.block_bytes();
    throw ModelError("--kv_cache_gib: " + std::to_string(options.kv_cache_bytes >> 20) +
                     " MiB hold " + std::to_string(shape.num_blocks * options.block_size) +
                     " tokens; one sequence of " + std::to_string(length) + " needs " +
                     std::to_string((bytes >> 20) + 1) + " MiB. Raise it or lower --max_model_len");
  }
  return shape;
}

ModelInfo Describe(const Checkpoint& checkpoint, const KvCacheShape& cache, WeightFormat weights,
                   int32_t length, const LoadOptions& options) {
  const ModelConfig& config = checkpoint.config();
  ModelInfo info;
  info.architecture = ArchitectureName(config.architecture);
  info.dtype = cache.element == ElementType::kFloat32 ? "float32" : "bfloat16";
  info.weights = WeightFormatName(weights);
  info.device = options.device;
  info.attention = config.attention;
  info.vocab_size = config.vocab_size;
  info.max_model_len = length;
  info.num_layers = config.num_layers;
  info.num_heads = config.num_heads;
  info.num_kv_heads = config.num_kv_heads;
  info.head_dim = config.head_dim;
  info.hidden_size = config.hidden_size;
  info.num_parameters = checkpoint.num_parameters();
  info.block_size = options.block_size;
  info.num_blocks = static_cast<int32_t>(cache.num_blocks);
  info.block_bytes = cache.block_bytes();
  info.bos_token_id = config.bos_token_id;
  info.eos_token_ids = config.eos_token_ids;
  info.default_temperature = config.default_temperature;
  info.default_top_k = config.default_top_k;
  info.default_top_p = config.default_top_p;
  info.default_min_p = config.default_min_p;
  info.default_repetition_penalty = config.default_repetition_penalty;
  return info;
}

}  // namespace

std::unique_ptr<LanguageModel> LoadLanguageModel(const LoadOptions& options) {
  CheckDevice(options.device);
  Checkpoint checkpoint(options.path);
  const ElementType element = ChooseElement(options, checkpoint.dtype());
  CheckShape(checkpoint.config(), options.block_size);
  const int32_t length = ChooseLength(checkpoint.config(), options.max_model_len);
  TransformerModel::Plan plan;
  plan.weights = ChooseWeights(options, element);
  plan.cache = PlanCache(checkpoint.config(), options, element, length);
  CheckMemory(
      {.weights = WeightBytes(checkpoint.config(), checkpoint.num_parameters(), plan.weights),
       .cache = plan.cache.num_blocks * plan.cache.block_bytes(),
       .step = StepBytes(checkpoint.config(), options.max_batched_tokens, length)},
      AvailableMemory());
  plan.info = Describe(checkpoint, plan.cache, plan.weights, length, options);
  plan.max_batched_tokens = options.max_batched_tokens;
  plan.isa = DetectCpuIsa();
  plan.num_threads = options.num_threads;
  plan.progress = options.progress;
  return std::make_unique<TransformerModel>(std::move(checkpoint), plan);
}

}  // namespace affine
