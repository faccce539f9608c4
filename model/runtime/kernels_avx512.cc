// Compiled for one instruction set alone: see CMakeLists.txt.
#include "model/runtime/kernels_impl.h"

namespace affine {

extern const Kernels kKernelsAvx512;
const Kernels kKernelsAvx512 = kTable;

}  // namespace affine
