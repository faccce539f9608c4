#include "server/grammar/deep_thread.h"

#include <system_error>
#include <utility>

namespace affine {

DeepThread::DeepThread(std::function<void()> work) : work_(std::move(work)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const auto run = [](void* self) -> void* {
    static_cast<DeepThread*>(self)->work_();
    return nullptr;
  };
  const int error = pthread_create(&thread_, &attributes, run, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            "no thread with a stack of 512 MiB for grammars");
  }
}

DeepThread::~DeepThread() { Join(); }

void DeepThread::Join() {
  if (!joined_) pthread_join(thread_, nullptr);
  joined_ = true;
}

}  // namespace affine
