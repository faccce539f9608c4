// What `loop` and a macro's name stand for.
#pragma once

#include <cstdint>

#include "model/jinja/value.h"

namespace affine::jinja {

struct Statement;

/// `loop` inside a for loop.
struct Loop {
  ListPtr items;
  size_t index = 0;  // of the item of this turn
};

/// A macro that was defined: its statement in the tree, which outlives the rendering.
struct MacroRef {
  const Statement* macro;
};

}  // namespace affine::jinja
