// Which vector instructions this processor has.
#pragma once

#include <string_view>
#include <vector>

namespace affine {

/// In ascending order of speed. All give the same bits: kernels are written once, on vectors of 16
/// numbers, and an element's operations and their order never depend on the instruction set.
enum class CpuIsa { kPortable, kAvx2, kAvx512, kAvx512Bf16 };

/// The fastest set that the processor and the operating system support.
CpuIsa DetectCpuIsa();

/// Every set that runs here, slowest first.
std::vector<CpuIsa> SupportedCpuIsas();

std::string_view CpuIsaName(CpuIsa isa);

}  // namespace affine
