// Which models are served, from which folders, under which names.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "server/app/config.h"
#include "server/app/usage_error.h"

namespace affine {

/// Most models of one process.
inline constexpr size_t kMostModels = 16;

struct ModelChoice {
  std::string name;
  std::string folder;
  double cache_share = 1;       // of the process's cache; all models' add up to 1
  std::string chat_template{};  // a file; empty: the folder's own
};

/// Reads the lists in --model, --served_model_name, --kv_cache_shares and --chat_template: one to
/// kMostModels models under different names. The first serves requests that name none. In FOLDER
/// and NAME=FOLDER the equals sign of a name comes before any slash; a folder without a name is
/// called after itself. Touches the file system only to find the name of a folder like ".".
std::variant<std::vector<ModelChoice>, UsageError> ChooseModels(const Config& config);

}  // namespace affine
