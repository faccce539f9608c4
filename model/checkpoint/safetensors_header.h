// The JSON header of a safetensors file: which tensors it holds and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint/problem_list.h"

namespace affine {

enum class TensorDtype { kFloat32, kBFloat16, kFloat16 };

/// The format's own name: "F32", "BF16" or "F16".
std::string_view DtypeName(TensorDtype dtype);

/// Bytes of one element.
int64_t DtypeBytes(TensorDtype dtype);

/// One tensor as the header claims it. Its bytes are [begin, end) of the data that follow.
struct TensorEntry {
  std::string name;
  TensorDtype dtype = TensorDtype::kFloat32;
  std::vector<int64_t> shape;  // each >= 0; empty: a scalar
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Parses without building a document, so memory stays in proportion to the tensors named.
/// Refuses anything but {name: {dtype, shape, data_offsets}} and a __metadata__ of strings, names
/// that come twice, and other dtypes. Throws ModelError; `source` is the file's name for people.
std::vector<TensorEntry> ParseSafetensorsHeader(std::string_view json, const std::string& source);

/// Checks each entry's size against its shape and that together they cover [0, data_bytes) without
/// overlap or hole. Sorts `entries` by offset. True if nothing was added to `problems`.
bool CheckSafetensorsLayout(std::vector<TensorEntry>& entries, uint64_t data_bytes,
                            const std::string& source, ProblemList& problems);

}  // namespace affine
