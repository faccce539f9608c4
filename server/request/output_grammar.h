// A form of output, compiled for one model's tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace affine {

/// Where one output stands in its grammar. Not thread-safe. Neither method throws.
class GrammarMatcher {
 public:
  virtual ~GrammarMatcher() = default;
  /// The output goes on with `id`, which is no end-of-text token. False: that is not allowed here,
  /// or the matcher failed; either way it is of no use any more.
  virtual bool Accept(int32_t id) = 0;
  /// `words` [TokenMask::WordsFor(vocab)]: the ids that may come next. Those of the model's
  /// end-of-text tokens are in it exactly if the output may end here. False: the matcher failed.
  virtual bool FillMask(std::span<uint32_t> words) = 0;
};

/// Immutable; all methods are safe to call from several threads.
class OutputGrammar {
 public:
  virtual ~OutputGrammar() = default;
  /// Before the first token, at which an output may be more than empty. May throw.
  virtual std::unique_ptr<GrammarMatcher> NewMatcher() const = 0;
  /// Memory that it takes.
  virtual size_t bytes() const = 0;
};

}  // namespace affine
