#include "model/checkpoint/safetensors_file.h"

#include <utility>

#include "model/model_error.h"

namespace affine {
namespace {

constexpr char kRemedy[] = "Copy or convert the checkpoint again.";

/// The first 8 bytes: the header's length, little-endian.
uint64_t HeaderBytes(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < 8) {
    throw ModelError(path + " has " + std::to_string(bytes.size()) +
                     " bytes; a safetensors file begins with 8 bytes of header length. " + kRemedy);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  const uint64_t rest = bytes.size() - 8;
  if (length > SafetensorsFile::kMaxHeaderBytes || length > rest) {
    throw ModelError(path + " says its header has " + std::to_string(length) +
                     " bytes; allowed are " + std::to_string(SafetensorsFile::kMaxHeaderBytes) +
                     ", and the file has " + std::to_string(rest) + " left. " + kRemedy);
  }
  return length;
}

std::map<std::string, TensorView, std::less<>> ReadTensors(std::span<const std::byte> bytes,
                                                           const std::string& path,
                                                           ProblemList& problems) {
  const uint64_t header_bytes = HeaderBytes(bytes, path);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);
  std::vector<TensorEntry> entries = ParseSafetensorsHeader(header, path);
  const bool sound = CheckSafetensorsLayout(entries, data.size(), path, problems);
  std::map<std::string, TensorView, std::less<>> tensors;
  for (TensorEntry& entry : entries) {
    // Offsets are believed only when all of them fit.
    const auto bytes =
        sound ? data.subspan(entry.begin, entry.end - entry.begin) : std::span<const std::byte>();
    tensors.emplace(std::move(entry.name), TensorView{entry.dtype, std::move(entry.shape), bytes});
  }
  return tensors;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  ProblemList problems;
  tensors_ = ReadTensors(file_.bytes(), path_, problems);
  problems.ThrowIfAny(path_ + " contradicts itself:", kRemedy);
}

SafetensorsFile::SafetensorsFile(const std::string& path, ProblemList& problems)
    : path_(path), file_(path) {
  tensors_ = ReadTensors(file_.bytes(), path_, problems);
}

}  // namespace affine
