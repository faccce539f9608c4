// Work that ends well or with an error, whichever way it says so.
#pragma once

#include <exception>
#include <optional>

#include "server/request/request_error.h"

namespace affine {

/// None: it went well.
using Outcome = std::optional<RequestError>;

/// What `work()` gives; an exception is the call's error, not the end of the thread it runs on.
template <typename Work>
Outcome OutcomeOf(const Work& work) {
  try {
    return work();
  } catch (const std::exception& fault) {
    return FaultOf(fault);
  }
}

}  // namespace affine
