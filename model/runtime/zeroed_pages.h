// Large memory for weights and cache.
#pragma once

#include <cstdint>
#include <memory>

namespace affine {

/// Bytes of zeros, page-aligned, taken from the system only as they are touched, in huge pages
/// where the system has them: a step reads all weights, and with 4 KiB pages waits for address
/// translation. Copies share the memory.
class ZeroedPages {
 public:
  /// Throws std::bad_alloc when the address space cannot be had.
  explicit ZeroedPages(int64_t bytes);

  char* data() const { return memory_.get(); }

 private:
  std::shared_ptr<char> memory_;
};

}  // namespace affine
