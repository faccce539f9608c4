// A thread with a large stack.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace affine {

/// For work that recurses as deep as what it reads refers to itself. Only the pages of the stack
/// that are used take memory.
class DeepThread {
 public:
  static constexpr size_t kStackBytes = size_t{512} << 20;

  /// Starts at once. Throws std::system_error if there can be no such thread.
  explicit DeepThread(std::function<void()> work);
  ~DeepThread();  // waits for the end of the work
  DeepThread(const DeepThread&) = delete;
  DeepThread& operator=(const DeepThread&) = delete;
  void Join();

 private:
  const std::function<void()> work_;
  pthread_t thread_;
  bool joined_ = false;
};

}  // namespace affine
