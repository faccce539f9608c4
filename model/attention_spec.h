// Which member of the attention family a checkpoint was trained with (arXiv 2602.23057).
#pragma once

#include <cstdint>
#include <optional>

namespace affine {

/// What the exponentials are divided by: l = sum_j exp s_j, l + 1, or l + exp(sink_h).
enum class Denominator { kSoftmax, kOffByOne, kLearnedSink };

/// phi in alpha = phi(W_a x). Linear clipping is 0 below -5, 0.1 x + 0.5 between, 1 above 5.
enum class AlphaActivation { kLinearClipping, kSigmoid };

/// An output gate sigma(W_g x) on the attention output, before the output projection.
enum class Gate { kNone, kHeadwise, kElementwise };

/// Affine scaling w = alpha p + beta, with beta = (alpha_ma - alpha) / N on visible keys only.
struct AffineScale {
  AlphaActivation activation = AlphaActivation::kLinearClipping;
  /// N. Unset: the number of visible keys, t + 1. Set: that number, which then also caps the
  /// model's length (past it the weights would turn negative as a whole).
  std::optional<int32_t> fixed_normalizer;
};

/// The three parts compose freely: 3 denominators x affine or not x 3 gates.
struct AttentionSpec {
  Denominator denominator = Denominator::kSoftmax;
  std::optional<AffineScale> affine;
  Gate gate = Gate::kNone;
};

}  // namespace affine
