// Compiles with XGrammar.
#pragma once

#include <memory>

#include "model/model_info.h"
#include "model/tokenizer.h"
#include "server/grammar/grammar_compiler.h"

namespace affine {

/// For the tokens of one model: special ones stand for no text, and the output ends with the
/// model's end-of-text tokens. `tokenizer` is read here and not kept. Throws std::exception.
std::unique_ptr<GrammarCompiler> MakeXGrammarCompiler(const ModelInfo& model,
                                                      const Tokenizer& tokenizer);

}  // namespace affine
