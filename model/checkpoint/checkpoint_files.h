// Finds the weight files of a checkpoint folder.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace affine {

struct CheckpointFiles {
  std::vector<std::string> paths;  // safetensors files, sorted
  /// With an index: the path that it names for each tensor. Else empty.
  std::map<std::string, std::string> index;
};

/// model.safetensors; else the files of model.safetensors.index.json, which must lie inside the
/// folder; else every *.safetensors. Throws ModelError, also for a folder that has pickled weights
/// alone.
CheckpointFiles FindCheckpointFiles(const std::string& folder);

}  // namespace affine
