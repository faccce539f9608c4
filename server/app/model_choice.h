// Which checkpoint is served, and under which name.
#pragma once

#include <string>
#include <variant>

#include "server/app/command.h"
#include "server/app/config.h"

namespace affine {

struct ModelChoice {
  std::string name;
  std::string folder;
};

/// Splits --model's FOLDER or NAME=FOLDER. Without a name, --served_model_name or else the
/// folder's own name is taken. A folder with `=` in its name needs a `/` before it ("./a=b").
std::variant<ModelChoice, UsageError> ChooseModel(const Config& config);

}  // namespace affine
