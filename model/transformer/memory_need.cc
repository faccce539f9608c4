#include "model/transformer/memory_need.h"

#include <algorithm>
#include <string>

#include "model/model_error.h"
#include "model/transformer/output_head.h"

namespace affine {
namespace {

std::string Mib(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

int64_t WeightBytes(const ModelConfig& config, int64_t parameters, WeightFormat format) {
  const auto bytes = [](int64_t count, WeightFormat kept) {
    constexpr int64_t kInputs = std::max(kInt8Group, kInt4Group);  // whole groups of both
    return count * PanelBytes(kept, kInputs) / (kInputs * kPanelWidth);
  };
  const int64_t head = int64_t{config.vocab_size} * config.hidden_size;
  return bytes(parameters - head, format) + bytes(head, OutputHead::FormatBeside(format));
}

int64_t StepBytes(const ModelConfig& config, int64_t rows, int64_t length) {
  const int64_t heads = int64_t{config.num_heads} * config.head_dim;
  const int64_t kv_heads = int64_t{config.num_kv_heads} * config.head_dim;
  int64_t attention = heads + 2 * kv_heads;                               // projections
  if (config.attention.affine) attention += config.num_heads + kv_heads;  // alpha, value sums
  if (config.attention.gate == Gate::kHeadwise) attention += config.num_heads;
  if (config.attention.gate == Gate::kElementwise) attention += heads;
  attention += 2 * heads + config.num_heads;                  // output, packed output, log_sum_exp
  const int64_t mlp = 3 * int64_t{config.intermediate_size};  // gate, up, packed product
  const int64_t hidden = 2 * int64_t{config.hidden_size};     // residual, packed norm
  const int64_t logits = OutputHead::kRowsAtOnce * config.vocab_size;
  // Packed rows take at most a float for each number.
  const auto float_bytes = static_cast<int64_t>(sizeof(float));
  return float_bytes * (rows * (hidden + attention + mlp) + logits + length * config.head_dim);
}

void CheckMemory(const MemoryNeed& need, std::optional<int64_t> available) {
  if (!available || need.total() <= *available) return;
  throw ModelError("weights (" + Mib(need.weights) + "), key-value cache (" + Mib(need.cache) +
                   ") and a step's buffers (" + Mib(need.step) + ") take " + Mib(need.total()) +
                   ", but this process can have " + std::to_string(*available >> 20) +
                   " MiB of memory; lower --kv_cache_gib or --max_num_batched_tokens, or give the "
                   "machine or the container more");
}

}  // namespace affine
