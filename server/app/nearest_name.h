// What someone probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// Insertions, deletions, substitutions and swaps of neighbours between the two words.
int EditDistance(std::string_view a, std::string_view b);

/// The name nearest to `word`, or empty if none is near: more than a third of it would change.
std::string NearestName(std::string_view word, const std::vector<std::string>& names);

}  // namespace affine
