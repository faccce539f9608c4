// A template's text as tokens, with white space taken away where the tags say so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace affine::jinja {

struct Token {
  enum class Kind {
    kText,            // between tags, as it goes out
    kOutputBegin,     // {{
    kOutputEnd,       // }}
    kStatementBegin,  // {%
    kStatementEnd,    // %}
    kName,
    kString,  // `text` is what it stands for
    kInteger,
    kFloat,
    kOperator,
    kEnd,  // of the template; the last token, once
  };
  Kind kind;
  std::string text;
  int line = 1;
  int64_t integer = 0;
  double number = 0;
};

/// Reads `source` as Jinja does with trim_blocks and lstrip_blocks, without its last line break.
/// Throws TemplateError, with the line.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace affine::jinja
