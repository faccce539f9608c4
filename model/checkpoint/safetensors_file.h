// A memory-mapped safetensors file, checked before any of its numbers is believed.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint/mapped_file.h"
#include "model/checkpoint/problem_list.h"
#include "model/checkpoint/safetensors_header.h"

namespace affine {

/// A tensor in row-major order. `data` has exactly the bytes of `shape`, little-endian, with no
/// promise of alignment, and lives as long as the file object.
struct TensorView {
  TensorDtype dtype = TensorDtype::kFloat32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

/// Movable; immutable once open, safe to read from several threads.
class SafetensorsFile {
 public:
  /// Longest JSON header that is read, in bytes; the format's own limit.
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

  /// Throws ModelError for any fault of the file.
  explicit SafetensorsFile(const std::string& path);
  /// Throws ModelError if the header can't be understood. Tensors that don't fit the file or each
  /// other go to `problems`, and then no view of the file has data.
  SafetensorsFile(const std::string& path, ProblemList& problems);

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }

 private:
  std::string path_;
  MappedFile file_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace affine
