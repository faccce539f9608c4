// The threads that share a step's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace affine {

/// One thread calls ParallelFor; it works too. Between calls that follow within about 100 us the
/// others spin, so that a call costs a microsecond or two; then they sleep. A worker that the
/// system has not woken in time is not waited for: only those that joined a call hold it up.
class WorkerTeam {
 public:
  /// `size` threads in all, the caller included; 0 takes one for each core.
  explicit WorkerTeam(int size);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls `body(item, thread)` once for each item in [0, count), thread in [0, size()), and
  /// returns when all have returned. Which thread takes which item is left open, so results must
  /// not depend on it. `body` must not throw and must not call ParallelFor.
  template <typename Body>
  void ParallelFor(int64_t count, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    Run(
        count,
        [](void* context, int64_t item, int thread) {
          (*static_cast<Plain*>(context))(item, thread);
        },
        const_cast<std::remove_const_t<Plain>*>(&body));
  }

 private:
  using Call = void (*)(void* context, int64_t item, int thread);
  void Run(int64_t count, Call call, void* context);
  void WorkerLoop(int thread);
  uint64_t AwaitNewJob(uint64_t last_epoch);
  void TakeItems(int thread);
  void WakeSleepers();

  // gate_: bit 63 a job is open to join, bits 32..62 its epoch, bits 0..31 workers inside it.
  // The fields of the job are written only while nobody is inside and it is closed.
  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<int64_t> next_item_{0};
  int64_t count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> wake_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace affine
