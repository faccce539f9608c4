// Weights of a checkpoint as the panels that multiplies read, rounded to the format they are kept
// in.
#pragma once

#include <cstdint>

#include "model/checkpoint/safetensors_file.h"
#include "model/runtime/weight_format.h"

namespace affine {

/// Packs rows [first, first + rows) of `weight` [n, inputs], at most 16, as the columns of one
/// panel. `panel` has PanelBytes(format, inputs), all zeros; columns that are left zero stay so.
///
/// Codes are rounded to nearest, group by group and column by column, from the checkpoint's own
/// numbers: int8 with the largest magnitude as 127, int4 with the least number as 0 and the largest
/// as 15. A group that holds NaN or infinity becomes NaN as a whole.
void PackPanel(WeightFormat format, const TensorView& weight, int64_t first, int64_t rows,
               char* panel);

}  // namespace affine
