// UTF-8 in pieces: what is whole, what must wait, what is invalid.
#pragma once

#include <string>
#include <string_view>

namespace affine {

/// True if all of `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool IsValidUtf8(std::string_view text);

/// `bytes` with each maximal invalid subpart replaced by one U+FFFD, as the WHATWG decoder does.
std::string ReplaceInvalidUtf8(std::string_view bytes);

/// Length of the longest suffix of `bytes` that could be the start of a character whose remaining
/// bytes have not come yet: 0 to 3.
size_t IncompleteUtf8Suffix(std::string_view bytes);

}  // namespace affine
