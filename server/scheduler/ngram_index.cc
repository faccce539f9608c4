#include "server/scheduler/ngram_index.h"

#include <algorithm>
#include <bit>

namespace affine {
namespace {

constexpr size_t kFewestPlaces = 64;
constexpr size_t kProbes = 8;

}  // namespace

NgramIndex::NgramIndex(int32_t longest, int32_t shortest)
    : longest_(longest), shortest_(shortest), tables_(longest - shortest + 1) {}

bool NgramIndex::EndsAt(size_t successor, std::span<const int32_t> tokens,
                        std::span<const int32_t> ngram) {
  return std::ranges::equal(tokens.subspan(successor - ngram.size(), ngram.size()), ngram);
}

// Where the n-gram stands or, if nowhere, where it may be put: an empty place, or that of another.
int32_t& NgramIndex::PlaceOf(std::span<const int32_t> ngram, std::span<const int32_t> tokens) {
  uint64_t hash = 0;
  for (const int32_t token : ngram) {
    hash = (std::rotl(hash, 5) ^ static_cast<uint32_t>(token)) * 0x9e3779b97f4a7c15;
  }
  std::vector<int32_t>& table = tables_[ngram.size() - shortest_];
  const size_t home = hash >> 32;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    int32_t& place = table[(home + probe) & (places_ - 1)];
    if (place == 0 || EndsAt(place, tokens, ngram)) return place;
  }
  return table[home & (places_ - 1)];
}

// N-grams that end with the last token have no successor yet: they are entered with the next one.
void NgramIndex::Index(std::span<const int32_t> tokens) {
  const size_t wanted = std::clamp(std::bit_ceil(2 * tokens.size()), kFewestPlaces, kMostPlaces);
  if (wanted > places_) {  // doubled at least: entering all again stays O(1) a token
    places_ = wanted;
    for (std::vector<int32_t>& table : tables_) table.assign(places_, 0);
    indexed_ = 0;
  }
  for (; indexed_ + 1 < tokens.size(); ++indexed_) {
    const size_t successor = indexed_ + 1;
    for (int32_t n = shortest_; n <= longest_; ++n) {
      if (static_cast<size_t>(n) > successor) break;
      PlaceOf(tokens.subspan(successor - n, n), tokens) = static_cast<int32_t>(successor);
    }
  }
}

int32_t NgramIndex::Guess(std::span<const int32_t> tokens, int32_t count,
                          std::vector<int32_t>& guesses) {
  guesses.clear();
  Index(tokens);
  for (int32_t n = longest_; n >= shortest_; --n) {
    if (tokens.size() <= static_cast<size_t>(n)) continue;
    const std::span<const int32_t> last = tokens.last(n);
    const auto successor = static_cast<size_t>(PlaceOf(last, tokens));
    if (successor == 0 || !EndsAt(successor, tokens, last)) continue;
    for (size_t i = successor; i < successor + count; ++i) {
      guesses.push_back(i < tokens.size() ? tokens[i] : guesses[i - tokens.size()]);
    }
    return n;
  }
  return 0;
}

}  // namespace affine
