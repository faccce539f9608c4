#include "model/runtime/kernels.h"

namespace affine {

extern const Kernels kKernelsPortable;
#if defined(__x86_64__)
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
extern const Kernels kKernelsAvx512Bf16;
#endif

const Kernels& KernelsFor(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa == CpuIsa::kAvx512Bf16) return kKernelsAvx512Bf16;
  if (isa == CpuIsa::kAvx512) return kKernelsAvx512;
  if (isa == CpuIsa::kAvx2) return kKernelsAvx2;
#endif
  return kKernelsPortable;
}

}  // namespace affine
