#include "model/runtime/zeroed_pages.h"

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include "model/model_error.h"

namespace affine {

at::Tensor ZeroedPages(int64_t bytes, const std::string& what, const std::string& remedy) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw ModelError(what + " of " + std::to_string(bytes >> 20) + " MiB cannot be allocated; " +
                     remedy);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  return at::from_blob(
      memory, {bytes}, [bytes](void* p) { munmap(p, bytes); }, at::TensorOptions(at::kByte));
}

}  // namespace affine
