// What is wrong with a command line or the environment.
#pragma once

#include <string>

namespace affine {

/// Names the flag, its value, the limit and the remedy.
struct UsageError {
  std::string message;
};

}  // namespace affine
