// What vLLM's contract tells of a model and of its engine.
#pragma once

#include "server/request/served_models.h"
#include "vllm/grpc/engine/vllm_engine.pb.h"

namespace affine {

::vllm::grpc::engine::GetModelInfoResponse ModelInfoMessage(const ServedModel& model);

/// What follows from the model alone; the caller adds the times.
::vllm::grpc::engine::GetServerInfoResponse ServerInfoMessage(const ServedModel& model);

::vllm::grpc::engine::SchedulerLoad LoadMessage(const ServedModel& model);

}  // namespace affine
