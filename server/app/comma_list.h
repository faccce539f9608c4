// Lists in the value of one flag.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// The parts of `text` between its commas, empty ones too. "\," is a comma inside a part. An empty
/// text has no parts.
std::vector<std::string> CommaList(std::string_view text);

/// A finite number above 0, or nothing.
std::optional<double> PositiveNumber(std::string_view text);

}  // namespace affine
