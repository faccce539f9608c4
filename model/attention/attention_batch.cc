#include "model/attention/attention_batch.h"

#include <algorithm>

namespace affine {

void KeepRows(const AttentionBatch& all, const AttentionBatch& kept, int64_t width, float* data) {
  for (size_t i = 0; i < all.slices.size(); ++i) {
    const AttentionSlice& slice = all.slices[i];
    const int64_t rows = kept.slices[i].rows;
    const float* from = data + (slice.first_row + slice.rows - rows) * width;
    float* to = data + kept.slices[i].first_row * width;
    if (to != from) std::copy(from, from + rows * width, to);  // to lies before from
  }
}

}  // namespace affine
