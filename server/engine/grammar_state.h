// Where a request's output stands in the form it must keep to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/request/output_grammar.h"

namespace affine {

/// Holds the mask of the next token. The state follows the tokens that came and nothing else, so
/// neither preemption nor company touches it. Used on the engine's thread alone.
class GrammarState {
 public:
  enum class Next {
    kToken,   // mask() says which
    kEnd,     // the output is whole, and nothing may follow
    kFailed,  // the matcher gave up, or nothing may follow and the output is not whole
  };

  /// `end_ids`: the model's end-of-text tokens; of these only what is also in `stop_ids`, sorted,
  /// may be drawn. `matcher` is not null.
  GrammarState(std::shared_ptr<GrammarMatcher> matcher, int32_t vocab_size,
               std::span<const int32_t> end_ids, std::span<const int32_t> stop_ids);
  /// What may come first, or after the last token that was taken.
  Next next() const { return next_; }
  /// A token came that does not end the output.
  void Take(int32_t id);
  /// [TokenMask::WordsFor(vocab)], with next() kToken; valid until Take.
  std::span<const uint32_t> mask() const { return mask_; }

 private:
  void Fill();

  const std::shared_ptr<GrammarMatcher> matcher_;
  const int32_t vocab_size_;
  std::vector<int32_t> end_ids_;
  std::vector<int32_t> ignored_ids_;  // of end_ids_: what may not be drawn
  std::vector<uint32_t> mask_;
  Next next_ = Next::kFailed;
};

}  // namespace affine
