// Finds where a sequence's last tokens stood before in the same sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace affine {

/// Prompt lookup: text repeats itself, so what followed the last few tokens when they stood
/// together before is a guess at what follows them now. For each n a hash table says where each
/// n-gram ended latest. It stores positions alone and verifies them against the tokens; it looks at
/// a few places and no more, so that a collision may cost a guess, and nothing else. O(1) amortised
/// a token, at most 16 bytes a token for each n. Not thread-safe.
class NgramIndex {
 public:
  /// Most places of a table, each four bytes: of longer sequences, older n-grams give way.
  static constexpr size_t kMostPlaces = size_t{1} << 16;

  /// Looks for the last `longest` tokens, then for fewer, down to `shortest`; 1 <= shortest <=
  /// longest.
  NgramIndex(int32_t longest, int32_t shortest);

  /// Makes `guesses` what may follow `tokens`, `count` of them, or none where the last tokens are
  /// new. Returns how many of these were found, 0 for none. Where what followed runs into the end
  /// of `tokens` it is taken to go on with the guesses themselves: of a loop shorter than `count`
  /// all of `count` are guessed. Between calls, `tokens` may grow at its end alone.
  int32_t Guess(std::span<const int32_t> tokens, int32_t count, std::vector<int32_t>& guesses);

 private:
  void Index(std::span<const int32_t> tokens);
  static bool EndsAt(size_t successor, std::span<const int32_t> tokens,
                     std::span<const int32_t> ngram);
  int32_t& PlaceOf(std::span<const int32_t> ngram, std::span<const int32_t> tokens);

  const int32_t longest_;
  const int32_t shortest_;
  size_t indexed_ = 0;  // n-grams that end before this position are in the tables
  size_t places_ = 0;   // of each table; a power of two, or 0
  /// For each n from shortest_ on: where n-grams' successors stand; 0: nowhere.
  std::vector<std::vector<int32_t>> tables_;  // [longest - shortest + 1, places]
};

}  // namespace affine
