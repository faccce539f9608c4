#include "model/checkpoint/rope_config.h"

#include <optional>

namespace affine {
namespace {

constexpr double kLeastTheta = 1.0;
constexpr double kMostTheta = 1e15;
constexpr double kMostFactor = 1e6;

RopeScaling ReadLlama3(const JsonObject& rope) {
  RopeScaling scaling;
  scaling.type = RopeScaling::Type::kLlama3;
  scaling.factor = rope.Number("factor", 1.0, kMostFactor);
  scaling.low_freq_factor = rope.Number("low_freq_factor", 1e-3, kMostFactor);
  scaling.high_freq_factor = rope.Number("high_freq_factor", 1e-3, kMostFactor);
  if (scaling.low_freq_factor >= scaling.high_freq_factor) {
    rope.Refuse("low_freq_factor", "It must be below high_freq_factor, which is " +
                                       std::to_string(scaling.high_freq_factor) + ".");
  }
  scaling.original_max_position_embeddings =
      rope.Int("original_max_position_embeddings", 1, 1 << 27);
  return scaling;
}

/// `rope` is rope_parameters or rope_scaling.
RopeScaling ReadScaling(const JsonObject& rope) {
  rope.RequireOnly({"rope_type", "type", "rope_theta", "factor", "low_freq_factor",
                    "high_freq_factor", "original_max_position_embeddings",
                    "partial_rotary_factor"});
  if (rope.Number("partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0) {
    rope.Refuse("partial_rotary_factor", "Allowed is 1: all of a head is rotated.");
  }
  const char* field = rope.Has("rope_type") ? "rope_type" : "type";
  const size_t type = rope.Choice(field, {"default", "linear", "llama3"}).value_or(0);
  if (type == 2) return ReadLlama3(rope);
  RopeScaling scaling;
  if (type == 1) {
    scaling.type = RopeScaling::Type::kLinear;
    scaling.factor = rope.Number("factor", 1.0, kMostFactor);
  } else if (rope.Has("factor")) {
    rope.Refuse("factor", "It needs a rope_type: one of 'linear', 'llama3'.");
  }
  return scaling;
}

}  // namespace

void ReadRope(const JsonObject& config, ModelConfig& model) {
  const std::optional<JsonObject> parameters = config.Object("rope_parameters");
  const std::optional<JsonObject> scaling = config.Object("rope_scaling");
  if (parameters && scaling) {
    config.Refuse("rope_scaling", "Beside rope_parameters, its newer spelling, it must be absent.");
  }
  model.rope_theta = config.Number("rope_theta", kLeastTheta, kMostTheta, model.rope_theta);
  const std::optional<JsonObject>& rope = parameters ? parameters : scaling;
  if (!rope) return;
  model.rope_scaling = ReadScaling(*rope);
  if (!rope->Has("rope_theta")) return;
  const double theta = rope->Number("rope_theta", kLeastTheta, kMostTheta);
  if (config.Has("rope_theta") && theta != model.rope_theta) {
    rope->Refuse("rope_theta", "It must equal the rope_theta at the top, which is " +
                                   std::to_string(model.rope_theta) + ".");
  }
  model.rope_theta = theta;
}

}  // namespace affine
