// Compiled for one instruction set alone: see CMakeLists.txt.
#include "model/runtime/kernels_impl.h"

namespace affine {

extern const Kernels kKernelsPortable;
const Kernels kKernelsPortable = kTable;

}  // namespace affine
