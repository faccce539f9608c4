// The key that callers must send.
#pragma once

#include <string>
#include <variant>

#include "server/app/config.h"
#include "server/app/exit_code.h"

namespace affine {

/// The key of --api_key or --api_key_file, or empty if neither is set. White space around a
/// file's key is left out. The outcome says what is wrong with the file.
std::variant<std::string, Outcome> ReadApiKey(const Config& config);

}  // namespace affine
