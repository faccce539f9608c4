// Where a rendered conversation ends if its last message is to be gone on with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace affine {

/// `rendered` up to the end of its last occurrence of `content`, with the white space behind it if
/// the template kept that. None if it is not in there.
std::optional<std::string> UpToFinalMessage(std::string_view rendered, std::string_view content);

}  // namespace affine
