#include "server/request/request_id.h"

#include <random>

namespace affine {

uint64_t FreshRandomBits() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

std::string NewRequestId() {
  std::string id;
  for (int half = 0; half < 2; ++half) {
    const uint64_t bits = FreshRandomBits();
    for (int shift = 60; shift >= 0; shift -= 4) {
      id.push_back("0123456789abcdef"[(bits >> shift) & 15]);
    }
  }
  return id;
}

std::optional<RequestError> CheckRequestId(std::string_view id) {
  const std::string limit = "it must be at most " + std::to_string(kMaxRequestIdBytes) +
                            " bytes of visible ASCII (0x21 to 0x7e)";
  if (id.size() > kMaxRequestIdBytes) {
    return RequestError{ErrorCause::kBadInput,
                        "`request_id` has " + std::to_string(id.size()) + " bytes; " + limit,
                        "request_id"};
  }
  for (size_t i = 0; i < id.size(); ++i) {
    const auto byte = static_cast<unsigned char>(id[i]);
    if (byte < 0x21 || byte > 0x7e) {
      return RequestError{ErrorCause::kBadInput,
                          "`request_id` has the byte " + std::to_string(byte) + " at position " +
                              std::to_string(i) + "; " + limit,
                          "request_id"};
    }
  }
  return std::nullopt;
}

}  // namespace affine
