// Limits on how a request's attention may behave, and how one is found to be passed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/stability.h"

namespace affine {

enum class StabilityLimit { kLargestScore, kEntropy, kAlphaDrift, kNonFinite };
inline constexpr StabilityLimit kStabilityLimits[] = {
    StabilityLimit::kLargestScore, StabilityLimit::kEntropy, StabilityLimit::kAlphaDrift,
    StabilityLimit::kNonFinite};

/// For metrics' labels and the log.
std::string_view NameOf(StabilityLimit limit);

/// An unset limit is not judged. That values are not finite is always judged, and always ends the
/// request with kNonFinite.
struct StabilityLimits {
  /// Queries that see fewer keys than this have low entropy by nature and are not judged by it.
  static constexpr int32_t kEntropyKeys = 64;
  /// Alpha differs from query to query; its mean over fewer of them is not judged.
  static constexpr int64_t kDriftQueries = 64;

  std::optional<double> largest_score{};  // highest q k / sqrt(head_dim)
  std::optional<double> entropy{};        // lowest mean over a layer's heads, nats
  std::optional<double> alpha_drift{};    // highest |mean of alpha - alpha_ma| of a head
  bool end_requests = false;              // with kUnstable, instead of only telling
};

struct LimitBreach {
  StabilityLimit limit = StabilityLimit::kNonFinite;
  int32_t layer = -1;  // -1: not known
  int32_t head = -1;   // -1: all of the layer's
  double value = 0.0;
  double bound = 0.0;  // the limit; 0 for kNonFinite
};

/// The first limit that `heads` [layers, num_heads] passes, from the first layer on; `judged` says
/// whether a limit applies to what was observed.
struct JudgedLimits {
  bool scores = true;
  bool entropy = true;
  bool drift = true;
};
std::optional<LimitBreach> FindBreach(std::span<const HeadStability> heads, int32_t num_heads,
                                      const StabilityLimits& limits, JudgedLimits judged);

}  // namespace affine
