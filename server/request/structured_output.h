// The form that a caller asks the output to have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace affine {

struct StructuredOutput {
  enum class Kind {
    kChoice,      // one of `choices`
    kRegex,       // the whole output matches `text`
    kJsonSchema,  // a JSON value that the schema `text` allows
    kJsonObject,  // any JSON object
    kGrammar,     // what the rule `root` of the EBNF `text` derives
  };
  Kind kind = Kind::kJsonObject;
  std::string text;
  std::vector<std::string> choices;
  std::string field = {};  // where it stood, as the caller spells it, for errors

  /// Of what the caller wrote.
  size_t bytes() const {
    size_t sum = text.size();
    for (const std::string& choice : choices) sum += choice.size();
    return sum;
  }
};

}  // namespace affine
