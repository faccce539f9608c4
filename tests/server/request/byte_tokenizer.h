// A tokenizer small enough to reason about: one token for each byte, and a few longer ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer.h"
#include "model/utf8.h"

namespace affine {

/// Ids 0 to 255 are the bytes, then come `pieces` in order, then `specials`. Encode takes the
/// longest token that fits, never a special one. Pieces may be parts of characters.
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(std::vector<std::string> pieces = {},
                         std::vector<std::string> specials = {"<bos>", "<eos>"}) {
    for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
    for (std::string& piece : pieces) tokens_.push_back(std::move(piece));
    first_special_ = static_cast<int32_t>(tokens_.size());
    for (std::string& special : specials) tokens_.push_back(std::move(special));
  }

  /// Encode throws for texts that contain this.
  static constexpr std::string_view kUnencodable = "<out of order>";

  std::vector<int32_t> Encode(std::string_view text, bool add_special_tokens) const override {
    if (text.find(kUnencodable) != text.npos)
      throw std::runtime_error("the tokenizer is out of order");
    const std::string valid = ReplaceInvalidUtf8(text);
    std::vector<int32_t> ids;
    if (add_special_tokens && adds_bos_) ids.push_back(first_special_);
    for (size_t at = 0; at < valid.size();) {
      int32_t best = static_cast<uint8_t>(valid[at]);
      for (int32_t id = 256; id < first_special_; ++id) {
        if (tokens_[id].size() > tokens_[best].size() &&
            valid.compare(at, tokens_[id].size(), tokens_[id]) == 0) {
          best = id;
        }
      }
      ids.push_back(best);
      at += tokens_[best].size();
    }
    return ids;
  }

  std::string_view TokenBytes(int32_t id) const override {
    return id >= 0 && id < vocab_size() ? std::string_view(tokens_[id]) : std::string_view();
  }
  bool IsSpecial(int32_t id) const override { return id >= first_special_ && id < vocab_size(); }
  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }

  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override {
    std::string bytes;
    for (const int32_t id : ids) {
      if (!skip_special_tokens || !IsSpecial(id)) bytes += TokenBytes(id);
    }
    return ReplaceInvalidUtf8(bytes);
  }

  int32_t first_special() const { return first_special_; }
  void AddBos() { adds_bos_ = true; }

 private:
  std::vector<std::string> tokens_;
  int32_t first_special_ = 0;
  bool adds_bos_ = false;
};

}  // namespace affine
