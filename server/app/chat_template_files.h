// Which chat template each of several models gets from a file.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "server/app/usage_error.h"

namespace affine {

/// Reads --chat_template: one FILE for all models, or NAME=FILE for some of `names`, in any order.
/// The equals sign of a name comes before any slash. The result is in the order of `names`, empty
/// where a model keeps its own. Does not touch the file system.
std::variant<std::vector<std::string>, UsageError> ChatTemplateFiles(
    const std::string& flag, const std::vector<std::string>& names);

}  // namespace affine
