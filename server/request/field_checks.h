// What checks of several fields share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_info.h"
#include "model/utf8.h"
#include "server/request/request_error.h"

namespace affine {

/// What a check found wrong, if anything.
using Checked = std::optional<RequestError>;

inline RequestError BadInput(std::string_view field, std::string message) {
  return {ErrorCause::kBadInput, std::move(message), std::string(field)};
}

template <typename Range, typename Value>
Checked CheckIfGiven(const Range& range, const std::optional<Value>& value) {
  return value ? range.Check(*value) : std::nullopt;
}

/// `field` is the parameter, `name` what of it is meant: stop, and stop[3].
inline Checked CheckUtf8(std::string_view field, const std::string& name, std::string_view text) {
  if (IsValidUtf8(text)) return std::nullopt;
  return BadInput(field, "`" + name + "` is not valid UTF-8; it must be text in UTF-8");
}

/// `count` of `things` ("ids") in `field`, of which there may be `most`.
inline Checked CheckCount(std::string_view field, const char* things, size_t count, size_t most) {
  if (count <= most) return std::nullopt;
  return BadInput(field, "`" + std::string(field) + "` has " + std::to_string(count) + " " +
                             things + "; it must have at most " + std::to_string(most));
}

/// Each of `texts` has 1 to `most_bytes` bytes and is UTF-8.
inline Checked CheckTexts(std::string_view field, const std::vector<std::string>& texts,
                          size_t most_bytes) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = std::string(field) + "[" + std::to_string(i) + "]";
    const size_t bytes = texts[i].size();
    if (bytes < 1 || bytes > most_bytes) {
      return BadInput(field, "`" + name + "` has " + std::to_string(bytes) +
                                 " bytes; it must have 1 to " + std::to_string(most_bytes));
    }
    if (Checked error = CheckUtf8(field, name, texts[i])) return error;
  }
  return std::nullopt;
}

/// `id`, which stands in `field` as `name`, is in the model's vocabulary.
inline Checked CheckId(std::string_view field, const std::string& name, int64_t id,
                       const ModelInfo& model) {
  if (id >= 0 && id < model.vocab_size) return std::nullopt;
  return BadInput(field, "`" + name + "` is " + std::to_string(id) +
                             "; it must be a token id in [0, " +
                             std::to_string(model.vocab_size - 1) + "]");
}

/// Narrows `ids`, which stand in `field` as `list`, to the model's type once every one is in its
/// vocabulary.
template <typename Id>
Checked TakeIds(std::string_view field, const std::string& list, const std::vector<Id>& ids,
                const ModelInfo& model, std::vector<int32_t>& out) {
  out.reserve(out.size() + ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string name = list + "[" + std::to_string(i) + "]";
    if (Checked error = CheckId(field, name, ids[i], model)) return error;
    out.push_back(static_cast<int32_t>(ids[i]));
  }
  return std::nullopt;
}

}  // namespace affine
