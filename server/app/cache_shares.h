// Which part of the cache each of several models gets.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "server/app/usage_error.h"

namespace affine {

/// Reads --kv_cache_shares, NAME=WEIGHT for each of `names`, in any order; empty: even shares. The
/// result is in the order of `names` and adds up to 1. Names may hold equals signs: a weight
/// follows the last.
std::variant<std::vector<double>, UsageError> CacheShares(const std::string& flag,
                                                          const std::vector<std::string>& names);

}  // namespace affine
