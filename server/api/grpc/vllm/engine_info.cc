#include "server/api/grpc/vllm/engine_info.h"

#include <nlohmann/json.hpp>
#include <string>

#include "server/api/http/json_text.h"
#include "server/request/parameter_range.h"

namespace affine {

namespace {

namespace wire = ::vllm::grpc::engine;

/// As `model_type` in the config.json of that architecture.
std::string TypeOf(const std::string& architecture) {
  if (architecture == "LlamaForCausalLM") return "llama";
  if (architecture == "Qwen2ForCausalLM") return "qwen2";
  return "";
}

/// A float's own decimals, so that 0.6f is not 0.60000002384.
nlohmann::ordered_json Decimal(float value) {
  return nlohmann::ordered_json::parse(DecimalOf(value));
}

std::string DefaultsOf(const ModelInfo& info) {
  nlohmann::ordered_json defaults = nlohmann::ordered_json::object();
  if (info.default_temperature != 1) defaults["temperature"] = Decimal(info.default_temperature);
  if (info.default_top_p != 1) defaults["top_p"] = Decimal(info.default_top_p);
  if (info.default_top_k > 0) defaults["top_k"] = info.default_top_k;
  return defaults.empty() ? "" : JsonText(defaults);
}

}  // namespace

wire::GetModelInfoResponse ModelInfoMessage(const ServedModel& model) {
  const ModelInfo& info = model.engine->info();
  wire::GetModelInfoResponse message;
  message.set_model_path(model.name);
  message.set_served_model_name(model.name);
  message.set_tokenizer_path(model.name);
  message.set_is_generation(true);
  message.set_max_context_length(info.max_model_len);
  message.set_max_req_input_len(info.max_model_len);
  message.set_vocab_size(info.vocab_size);
  message.set_model_type(TypeOf(info.architecture));
  message.add_architectures(info.architecture);
  message.mutable_eos_token_ids()->Add(info.eos_token_ids.begin(), info.eos_token_ids.end());
  if (info.bos_token_id >= 0) message.set_bos_token_id(info.bos_token_id);
  message.set_default_sampling_params_json(DefaultsOf(info));
  return message;
}

wire::GetServerInfoResponse ServerInfoMessage(const ServedModel& model) {
  const ModelInfo& info = model.engine->info();
  const EngineLoad load = model.engine->load();
  wire::GetServerInfoResponse message;
  message.set_active_requests(load.running + load.waiting);
  message.set_server_type("vllm-grpc");
  message.set_data_parallel_size(1);
  message.set_kv_cache_dtype(info.dtype);
  message.set_model_dtype(info.dtype);
  message.set_block_size(info.block_size);
  return message;
}

wire::SchedulerLoad LoadMessage(const ServedModel& model) {
  const EngineLoad load = model.engine->load();
  const int32_t block_size = model.engine->info().block_size;
  wire::SchedulerLoad message;
  message.set_num_running_reqs(load.running);
  message.set_num_waiting_reqs(load.waiting);
  message.set_num_total_reqs(load.running + load.waiting);
  message.set_num_used_tokens(load.blocks_used * block_size);
  message.set_max_total_num_tokens(load.blocks_total * block_size);
  if (load.blocks_total > 0) {
    message.set_token_usage(static_cast<double>(load.blocks_used) / load.blocks_total);
  }
  return message;
}

}  // namespace affine
