// Names for requests that came without one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/request_error.h"

namespace affine {

/// Longest request id that a caller may give, in bytes.
inline constexpr size_t kMaxRequestIdBytes = 256;

/// 64 bits from the operating system. Thread-safe.
uint64_t FreshRandomBits();

/// 32 hexadecimal digits, drawn anew. Thread-safe.
std::string NewRequestId();

/// None if `id` can stand in a header and a log line: at most 256 bytes of visible ASCII.
std::optional<RequestError> CheckRequestId(std::string_view id);

}  // namespace affine
