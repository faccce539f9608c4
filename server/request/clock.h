// Time as a part that is passed in, so that tests need not wait.
#pragma once

#include <chrono>

namespace affine {

class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Time Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace affine
