#include "model/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "model/model_error.h"

namespace affine {
namespace {

/// Closes what open(2) gave.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void ThrowUnreadable(const std::string& path, const std::string& why) {
  throw ModelError("Cannot read " + path + ": " + why +
                   ". Name a checkpoint folder whose files this user can read.");
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Non-blocking, so that a pipe of that name can't stall the start.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) ThrowUnreadable(path, std::strerror(errno));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) ThrowUnreadable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) ThrowUnreadable(path, "it is not a regular file");
  if (status.st_size == 0) return;  // nothing to map; the span stays empty
  const auto size = static_cast<size_t>(status.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) ThrowUnreadable(path, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace affine
