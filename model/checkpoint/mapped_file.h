// A regular file's bytes in memory, read on demand.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace affine {

/// Read-only and movable; safe to read from several threads. The file must not be shortened while
/// it is mapped: touching bytes that are gone ends the process with SIGBUS.
class MappedFile {
 public:
  /// Follows symbolic links. Throws ModelError if `path` is no readable regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace affine
