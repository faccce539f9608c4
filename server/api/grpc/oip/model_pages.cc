#include "server/api/grpc/oip/model_pages.h"

#include <span>
#include <string>

#include "server/api/grpc/oip/infer_request.h"
#include "server/api/grpc/oip/tensor_table.h"

namespace affine {

namespace {

constexpr char kPlatform[] = "affine_serve";

template <typename Messages>
void AddMetadata(std::span<const Tensor> tensors, Messages* messages) {
  for (const Tensor& tensor : tensors) {
    auto& message = *messages->Add();
    message.set_name(std::string(tensor.name));
    message.set_datatype(std::string(NameOf(tensor.type)));
    message.add_shape(1);
  }
}

}  // namespace

inference::ModelMetadataResponse MetadataOf(const ServedModel& model) {
  inference::ModelMetadataResponse message;
  message.set_name(model.name);
  message.add_versions(kModelVersion);
  message.set_platform(kPlatform);
  AddMetadata(InputTensors(), message.mutable_inputs());
  AddMetadata(OutputTensors(), message.mutable_outputs());
  return message;
}

inference::ModelConfig ConfigOf(const ServedModel& model) {
  inference::ModelConfig config;
  config.set_name(model.name);
  config.set_platform(kPlatform);
  config.set_backend(kPlatform);
  config.mutable_model_transaction_policy()->set_decoupled(true);
  for (const Tensor& tensor : InputTensors()) {
    inference::ModelInput& input = *config.add_input();
    input.set_name(std::string(tensor.name));
    input.set_data_type(DataTypeOf(tensor.type));
    input.add_dims(1);
    input.set_optional(!tensor.required);
  }
  for (const Tensor& tensor : OutputTensors()) {
    inference::ModelOutput& output = *config.add_output();
    output.set_name(std::string(tensor.name));
    output.set_data_type(DataTypeOf(tensor.type));
    output.add_dims(1);
  }
  const ModelInfo& info = model.engine->info();
  const auto set = [&config](const char* name, std::string value) {
    (*config.mutable_parameters())[name].set_string_value(std::move(value));
  };
  set("architecture", info.architecture);
  set("dtype", info.dtype);
  set("weights", info.weights);
  set("device", info.device);
  set("max_model_len", std::to_string(info.max_model_len));
  set("vocab_size", std::to_string(info.vocab_size));
  return config;
}

inference::RepositoryIndexResponse IndexOf(const ServedModels& models, bool ready) {
  inference::RepositoryIndexResponse message;
  for (const std::string& name : models.names()) {
    const bool loaded = models.IsLoaded(name);
    if (ready && !loaded) continue;
    auto& model = *message.add_models();
    model.set_name(name);
    model.set_version(kModelVersion);
    model.set_state(loaded ? "READY" : "LOADING");
  }
  return message;
}

}  // namespace affine
