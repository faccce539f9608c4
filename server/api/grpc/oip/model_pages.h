// What the Open Inference Protocol tells of models.
#pragma once

#include "inference/grpc_service.pb.h"
#include "server/request/served_models.h"

namespace affine {

inference::ModelMetadataResponse MetadataOf(const ServedModel& model);

inference::ModelConfig ConfigOf(const ServedModel& model);

/// Every model that is or will be served; with `ready` those that are loaded.
inference::RepositoryIndexResponse IndexOf(const ServedModels& models, bool ready);

}  // namespace affine
