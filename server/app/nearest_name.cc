#include "server/app/nearest_name.h"

#include <algorithm>

namespace affine {

int EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> cells((a.size() + 1) * width);  // [a.size() + 1, b.size() + 1]
  const auto at = [&](size_t i, size_t j) -> int& { return cells[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::string NearestName(std::string_view word, const std::vector<std::string>& names) {
  // A flag's name is short; a longer word is no slip of the fingers, and would cost time.
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return "";
  std::string nearest;
  int best = std::max(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& name : names) {
    const int distance = EditDistance(word, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace affine
