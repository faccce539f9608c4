#include "model/checkpoint/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

constexpr size_t kMaxRank = 8;
constexpr size_t kMaxNameBytes = 1024;
constexpr uint64_t kMaxDimension = std::numeric_limits<int64_t>::max();

std::optional<TensorDtype> DtypeNamed(std::string_view name) {
  if (name == "F32") return TensorDtype::kFloat32;
  if (name == "BF16") return TensorDtype::kBFloat16;
  if (name == "F16") return TensorDtype::kFloat16;
  return std::nullopt;
}

/// Reads the header event by event; the first fault stops it.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<TensorEntry> TakeEntries() { return std::move(entries_); }
  const std::string& fault() const { return fault_; }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("true or false"); }
  bool number_integer(number_integer_t value) override {
    return Unexpected("the number " + std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Unexpected("the number " + Quoted(text));
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected("the number " + std::to_string(value));
    }
    const bool shape = place_ == Place::kShape;
    if (numbers_.size() == (shape ? kMaxRank : 2)) {
      return Fail("tensor " + Quoted(name_) +
                  (shape ? " has more than 8 dimensions" : " has more than two data_offsets"));
    }
    if (value > kMaxDimension) {
      return Fail("tensor " + Quoted(name_) + " has the number " + std::to_string(value) +
                  ", above " + std::to_string(kMaxDimension));
    }
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) return true;  // the writer's notes, of no use here
    if (place_ != Place::kEntry || field_ != "dtype")
      return Unexpected("the text " + Quoted(value));
    dtype_ = DtypeNamed(value);
    if (!dtype_) {
      return Fail("tensor " + Quoted(name_) + " has dtype " + Quoted(value) +
                  "; allowed are F32, BF16, F16");
    }
    return true;
  }

  bool key(string_t& key) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ == Place::kEntry) return OnField(key);
    name_ = std::move(key);
    if (name_.size() > kMaxNameBytes) return Fail("the name " + Quoted(name_) + " is too long");
    if (!names_.insert(name_).second) return Fail("tensor " + Quoted(name_) + " comes twice");
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kEntry;
      field_.clear();
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry && !FinishEntry()) return false;
    place_ = Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || (field_ != "shape" && field_ != "data_offsets")) {
      return Unexpected("a list");
    }
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    (place_ == Place::kShape ? shape_ : offsets_) = numbers_;
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return Fail("it is not JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kEntry, kShape, kOffsets };

  bool Fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  bool Unexpected(const std::string& what) {
    return Fail("it has " + what + " where that can't stand" +
                (name_.empty() ? "" : ", at " + Quoted(name_)));
  }

  bool OnField(std::string& field) {
    const bool twice = (field == "dtype" && dtype_) || (field == "shape" && shape_) ||
                       (field == "data_offsets" && offsets_);
    if (twice) return Fail("tensor " + Quoted(name_) + " has " + Quoted(field) + " twice");
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return Fail("tensor " + Quoted(name_) + " has the field " + Quoted(field) +
                  "; allowed are dtype, shape, data_offsets");
    }
    field_ = std::move(field);
    return true;
  }

  bool FinishEntry() {
    if (!dtype_ || !shape_ || !offsets_ || offsets_->size() != 2) {
      return Fail("tensor " + Quoted(name_) +
                  " lacks one of dtype, shape and data_offsets [begin, end]");
    }
    TensorEntry entry{name_, *dtype_, {}, (*offsets_)[0], (*offsets_)[1]};
    entry.shape.assign(shape_->begin(), shape_->end());
    entries_.push_back(std::move(entry));
    return true;
  }

  Place place_ = Place::kOutside;
  std::string name_;   // the tensor being read
  std::string field_;  // its field being read
  std::optional<TensorDtype> dtype_;
  std::optional<std::vector<uint64_t>> shape_;
  std::optional<std::vector<uint64_t>> offsets_;
  std::vector<uint64_t> numbers_;  // of the list being read
  std::unordered_set<std::string> names_;
  std::vector<TensorEntry> entries_;
  std::string fault_;
};

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string RangeText(const TensorEntry& entry) {
  return Quoted(entry.name) + " at bytes " + std::to_string(entry.begin) + " to " +
         std::to_string(entry.end);
}

/// Bytes of a tensor of that shape; unset if they don't fit in 63 bits.
std::optional<uint64_t> ByteSize(const TensorEntry& entry) {
  int64_t bytes = DtypeBytes(entry.dtype);
  for (const int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

bool EntryFits(const TensorEntry& entry, uint64_t data_bytes, const std::string& source,
               ProblemList& problems) {
  if (entry.begin > entry.end || entry.end > data_bytes) {
    problems.Add("outside the file", RangeText(entry) + " of " + source + ", which has " +
                                         std::to_string(data_bytes) + " bytes of data");
    return false;
  }
  const std::optional<uint64_t> bytes = ByteSize(entry);
  if (!bytes || *bytes != entry.end - entry.begin) {
    problems.Add("wrong size", RangeText(entry) + " of " + source + "; " +
                                   std::string(DtypeName(entry.dtype)) + " of shape " +
                                   ShapeText(entry.shape) + " takes " +
                                   (bytes ? std::to_string(*bytes) : "more than 2^63") + " bytes");
    return false;
  }
  return true;
}

}  // namespace

std::string_view DtypeName(TensorDtype dtype) {
  switch (dtype) {
    case TensorDtype::kFloat32:
      return "F32";
    case TensorDtype::kBFloat16:
      return "BF16";
    case TensorDtype::kFloat16:
      return "F16";
  }
  return "";
}

int64_t DtypeBytes(TensorDtype dtype) { return dtype == TensorDtype::kFloat32 ? 4 : 2; }

std::vector<TensorEntry> ParseSafetensorsHeader(std::string_view json, const std::string& source) {
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) {
    throw ModelError("The header of " + source + " can't be used: " + handler.fault() +
                     ". Copy or convert the checkpoint again.");
  }
  return handler.TakeEntries();
}

bool CheckSafetensorsLayout(std::vector<TensorEntry>& entries, uint64_t data_bytes,
                            const std::string& source, ProblemList& problems) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  bool sound = true;
  uint64_t covered = 0;  // all bytes before it belong to a tensor
  const TensorEntry* last = nullptr;
  for (const TensorEntry& entry : entries) {
    if (!EntryFits(entry, data_bytes, source, problems)) {
      sound = false;
      continue;
    }
    if (entry.begin < covered) {
      problems.Add("overlapping", RangeText(entry) + " of " + source + " with " + RangeText(*last));
      sound = false;
    } else if (entry.begin > covered && sound) {
      problems.Add("hole", "bytes " + std::to_string(covered) + " to " +
                               std::to_string(entry.begin) + " of " + source +
                               " belong to no tensor");
      sound = false;
    }
    if (entry.end >= covered) {
      covered = entry.end;
      last = &entry;
    }
  }
  if (sound && covered != data_bytes) {
    problems.Add("hole", "bytes " + std::to_string(covered) + " to " + std::to_string(data_bytes) +
                             " of " + source + " belong to no tensor");
    sound = false;
  }
  return sound;
}

}  // namespace affine
