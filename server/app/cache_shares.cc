#include "server/app/cache_shares.h"

#include <algorithm>
#include <numeric>

#include "server/app/comma_list.h"

namespace affine {
namespace {

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

UsageError Bad(const std::string& flag, const std::string& why) {
  return {"--kv_cache_shares is '" + flag + "', but " + why};
}

}  // namespace

std::variant<std::vector<double>, UsageError> CacheShares(const std::string& flag,
                                                          const std::vector<std::string>& names) {
  std::vector<double> shares(names.size(), flag.empty() ? 1.0 : 0.0);
  for (const std::string& part : CommaList(flag)) {
    const size_t equals = part.rfind('=');
    if (equals == std::string::npos) {
      return Bad(flag, "'" + part + "' in it must be NAME=WEIGHT, such as " + names[0] + "=2");
    }
    const std::string name = part.substr(0, equals);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      return Bad(flag, "no model is called '" + name + "'; the models are " + Listed(names));
    }
    double& share = shares[static_cast<size_t>(known - names.begin())];
    if (share > 0) return Bad(flag, "'" + name + "' is in it twice; give each model one weight");
    const auto weight = PositiveNumber(part.substr(equals + 1));
    if (!weight) {
      return Bad(flag, "the weight of '" + name + "' must be a finite number above 0, not '" +
                           part.substr(equals + 1) + "'");
    }
    share = *weight;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (shares[i] == 0) {
      return Bad(flag, "'" + names[i] + "' is not in it; give every model a weight");
    }
  }
  // By the largest first: the sum of large weights may be infinite.
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share /= largest;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace affine
