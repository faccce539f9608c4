// What one HTTP connection may take of memory and time.
#pragma once

#include <chrono>
#include <cstdint>

namespace affine {

struct HttpLimits {
  uint32_t header_bytes = 64 << 10;               // request line and headers together
  uint64_t body_bytes = 16 << 20;                 // a larger body is answered with 413
  std::chrono::milliseconds idle{75'000};         // between requests, and before the first
  std::chrono::milliseconds header{10'000};       // from a request's first byte to its last header
  std::chrono::milliseconds body{60'000};         // from the headers to the body's last byte
  std::chrono::milliseconds write_stall{30'000};  // no byte taken by the client
  std::chrono::milliseconds linger{2'000};        // after the last answer, for the client to close
};

}  // namespace affine
