#include "server/grammar/xgrammar/work_budget.h"

#include <time.h>
#include <xgrammar/work_limit.h>

// What XGrammar calls instead of writing to stderr and of throwing errors that name its own files.
namespace xgrammar {
[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);
}  // namespace xgrammar

namespace affine {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// Units between two looks at the clock: some 100 microseconds.
constexpr int64_t kPortion = 10'000;

/// XGrammar has no parameter that could carry it.
thread_local WorkBudget* current = nullptr;

/// What this thread took of the processor.
nanoseconds ThreadTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

}  // namespace

WorkBudget::WorkBudget(int64_t units) : granted_(units) {
  current = this;
  xgrammar::WorkLimit::left = units;
  xgrammar::WorkLimit::exhausted = [] { current->Refill(); };
}

WorkBudget::WorkBudget(std::chrono::milliseconds most) : WorkBudget(kPortion) {
  deadline_ = ThreadTime() + most;
  last_moment_ = steady_clock::now() + most + most / 2;
}

WorkBudget::~WorkBudget() {
  current = nullptr;
  xgrammar::WorkLimit::left = INT64_MAX;
}

int64_t WorkBudget::spent() const { return granted_ - xgrammar::WorkLimit::left; }

void WorkBudget::Refill() {
  if (!deadline_ || ThreadTime() >= *deadline_ || steady_clock::now() >= last_moment_) {
    xgrammar::WorkLimit::left = INT64_MAX;  // what runs while the stack unwinds
    throw BudgetSpent("its budget of work is spent");
  }
  granted_ += kPortion - xgrammar::WorkLimit::left;
  xgrammar::WorkLimit::left = kPortion;
}

void WorkBudget::Warn(const std::string& message) {
  if (!warning_) warning_ = message;
}

}  // namespace affine

namespace xgrammar {

constexpr int kWarning = 2;  // XGRAMMAR_LOG_LEVEL_WARNING

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  if (affine::current != nullptr && level >= kWarning) affine::current->Warn(message);
}

}  // namespace xgrammar
