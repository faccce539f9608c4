#include "model/runtime/zeroed_pages.h"

#include <sys/mman.h>

#include <new>

namespace affine {

ZeroedPages::ZeroedPages(int64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // advice: where it is not taken, pages are small
  memory_.reset(static_cast<char*>(memory), [bytes](char* start) { munmap(start, bytes); });
}

}  // namespace affine
