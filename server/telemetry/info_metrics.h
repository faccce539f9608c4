// Facts that do not change while the process runs, as series that are always 1.
#pragma once

#include <prometheus/registry.h>

#include <string>

#include "model/model_info.h"

namespace affine {

/// Adds affine_build_info, labelled with `version`.
void AddBuildInfo(prometheus::Registry& registry, const std::string& version);

/// Adds affine_model_info (what the model is, its attention included) and
/// affine_cache_config_info for the model served as `model_name`.
void AddModelInfo(prometheus::Registry& registry, const std::string& model_name,
                  const ModelInfo& info, bool prefix_caching);

}  // namespace affine
