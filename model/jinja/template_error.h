// What goes wrong in a template, while it is read or while it renders.
#pragma once

#include <stdexcept>
#include <string>

namespace affine::jinja {

/// what() says what is wrong and, once that is known, in which line: "line 3: ...".
class TemplateError : public std::runtime_error {
 public:
  /// `line` counts from 1; 0: not known where this is thrown.
  explicit TemplateError(const std::string& what, int line = 0)
      : std::runtime_error(line > 0 ? "line " + std::to_string(line) + ": " + what : what),
        line_(line) {}
  int line() const { return line_; }

 private:
  int line_;
};

/// The template itself refused what it was given, by raise_exception. what() is its message alone.
class RaisedByTemplate : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace affine::jinja
