// How much XGrammar may do in one call.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace affine {

/// Thrown out of XGrammar once a budget is spent.
struct BudgetSpent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// While it lives, XGrammar's work on this thread is counted, at the points that
/// cmake/xgrammar-work-limit.patch puts into it, and ends with BudgetSpent when it is too much.
/// Warnings that XGrammar would print are kept instead. One at a time on a thread.
class WorkBudget {
 public:
  /// So many units of some ten nanoseconds: the same on every machine and in any company.
  explicit WorkBudget(int64_t units);
  /// So much of the processor's time, and half as much again in all where others want it too.
  explicit WorkBudget(std::chrono::milliseconds most);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  /// The first of the warnings so far.
  const std::optional<std::string>& warning() const { return warning_; }
  void Warn(const std::string& message);
  /// XGrammar asks for more: gives it, or throws.
  void Refill();
  int64_t spent() const;

 private:
  std::optional<std::chrono::nanoseconds> deadline_;  // on the thread's own clock
  std::chrono::steady_clock::time_point last_moment_;
  int64_t granted_ = 0;
  std::optional<std::string> warning_;
};

}  // namespace affine
