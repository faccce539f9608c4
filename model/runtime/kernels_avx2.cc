// Compiled for one instruction set alone: see CMakeLists.txt.
#include "model/runtime/kernels_impl.h"

namespace affine {

extern const Kernels kKernelsAvx2;
const Kernels kKernelsAvx2 = kTable;

}  // namespace affine
