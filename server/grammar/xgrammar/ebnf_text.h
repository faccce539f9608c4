// Forms as EBNF, as XGrammar reads it.
#pragma once

#include <string>
#include <vector>

namespace affine {

/// EBNF whose rule `root` is one of `choices`, which are not empty and valid UTF-8.
std::string EbnfOfChoices(const std::vector<std::string>& choices);

/// `regex` with [^\n] for each dot that stands for a character: what a dot means to most, where
/// XGrammar takes line breaks as well.
std::string WithPlainDots(const std::string& regex);

/// EBNF whose rule `root` is what `regex` matches as a whole.
std::string EbnfOfRegex(const std::string& regex);

}  // namespace affine
