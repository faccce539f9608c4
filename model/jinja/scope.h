// The names that a place in a template knows.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/jinja/value.h"

namespace affine::jinja {

/// Lies within another scope, which outlives it.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, Value, std::less<>> names{};

  /// The value of `name` here or further out, or null.
  const Value* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->names.find(name);
      if (found != scope->names.end()) return &found->second;
    }
    return nullptr;
  }
};

}  // namespace affine::jinja
