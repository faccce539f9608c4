// A quoted string in a template.
#pragma once

#include <string>
#include <string_view>

namespace affine::jinja {

struct StringLiteral {
  std::string value;  // UTF-8
  size_t length;      // of the literal with its quotes, in bytes
};

/// Reads the literal that `text` begins with, with Python's escapes. Throws TemplateError at
/// `line`.
StringLiteral ReadStringLiteral(std::string_view text, int line);

}  // namespace affine::jinja
