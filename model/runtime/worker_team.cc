#include "model/runtime/worker_team.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace affine {
namespace {

constexpr uint64_t kOpen = uint64_t{1} << 63;
constexpr uint64_t kEpochStep = uint64_t{1} << 32;
constexpr uint64_t kEpochMask = kOpen - kEpochStep;
constexpr uint64_t kInsideMask = kEpochStep - 1;
constexpr auto kSpinTime = std::chrono::microseconds(100);
constexpr int kSpinsBetweenClockReads = 64;
constexpr int kSpinsBeforeYield = 4096;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

WorkerTeam::WorkerTeam(int size) {
  if (size <= 0) size = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < size; ++i) threads_.emplace_back([this, i] { WorkerLoop(i); });
}

WorkerTeam::~WorkerTeam() {
  stopping_.store(true);
  WakeSleepers();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::Run(int64_t count, Call call, void* context) {
  if (count <= 0) return;
  if (count == 1 || threads_.empty()) {
    for (int64_t i = 0; i < count; ++i) call(context, i, 0);
    return;
  }
  count_ = count;
  call_ = call;
  context_ = context;
  next_item_.store(0, std::memory_order_relaxed);
  const uint64_t epoch =
      ((gate_.load(std::memory_order_relaxed) & kEpochMask) + kEpochStep) & kEpochMask;
  gate_.store(kOpen | epoch);
  if (sleepers_.load() > 0) WakeSleepers();
  TakeItems(0);
  gate_.fetch_and(~kOpen);
  for (int spins = 0; (gate_.load(std::memory_order_acquire) & kInsideMask) != 0; ++spins) {
    if (spins < kSpinsBeforeYield) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void WorkerTeam::TakeItems(int thread) {
  for (;;) {
    const int64_t item = next_item_.fetch_add(1, std::memory_order_relaxed);
    if (item >= count_) return;
    call_(context_, item, thread);
  }
}

void WorkerTeam::WorkerLoop(int thread) {
  uint64_t epoch = 0;
  for (;;) {
    epoch = AwaitNewJob(epoch);
    if (stopping_.load(std::memory_order_relaxed)) return;
    TakeItems(thread);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

// Joins the next job and returns its epoch; on stopping returns without having joined.
uint64_t WorkerTeam::AwaitNewJob(uint64_t last_epoch) {
  auto spin_until = std::chrono::steady_clock::now() + kSpinTime;
  for (int spins = 1;; ++spins) {
    uint64_t gate = gate_.load(std::memory_order_acquire);
    while ((gate & kOpen) != 0 && (gate & kEpochMask) != last_epoch) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
        return gate & kEpochMask;
      }
    }
    if (stopping_.load()) return last_epoch;
    Pause();
    if (spins % kSpinsBetweenClockReads != 0) continue;
    if (std::chrono::steady_clock::now() < spin_until) continue;
    const uint32_t seen = wake_.load();
    sleepers_.fetch_add(1);
    // A job opened before the line above is seen here; one opened after it sees the sleeper.
    gate = gate_.load();
    const bool missed = (gate & kOpen) != 0 && (gate & kEpochMask) != last_epoch;
    if (!missed && !stopping_.load()) wake_.wait(seen);
    sleepers_.fetch_sub(1);
    spin_until = std::chrono::steady_clock::now() + kSpinTime;
  }
}

void WorkerTeam::WakeSleepers() {
  wake_.fetch_add(1);
  wake_.notify_all();
}

}  // namespace affine
