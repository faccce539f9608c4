// Large memory for weights and cache.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace affine {

/// uint8 [bytes] of zeros, page-aligned, taken from the system only as it is touched, in huge pages
/// where the system has them: a step reads all weights, and with 4 KiB pages waits for address
/// translation. Throws ModelError, naming `what` and `remedy`, when the address space cannot be
/// had.
at::Tensor ZeroedPages(int64_t bytes, const std::string& what, const std::string& remedy);

}  // namespace affine
