// Where the grammars of requests come from. Implemented by GrammarService; by fakes in tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "server/request/output_grammar.h"
#include "server/request/request_error.h"
#include "server/request/structured_output.h"

namespace affine {

/// Never null.
using GrammarResult = std::variant<std::shared_ptr<const OutputGrammar>, RequestError>;

class GrammarSource {
 public:
  virtual ~GrammarSource() = default;
  /// Thread-safe, and never waits. The grammar of `form` if it is known already, or why there will
  /// be none; else nothing, and `done` gets either later, once, on another thread: it must only
  /// post work elsewhere. Whoever asks for what is being compiled waits for the same compilation.
  virtual std::optional<GrammarResult> Get(const StructuredOutput& form,
                                           std::function<void(GrammarResult)> done) = 0;
};

}  // namespace affine
