// tokenizer.json, parsed but not yet understood.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// The file as a JSON document, except for the two long lists of `model`: these lie here in a
/// compact form and are missing from the document.
struct TokenizerFile {
  static constexpr size_t kMaxBytes = size_t{256} << 20;
  static constexpr size_t kMaxTokens = size_t{1} << 20;  // Llama-3 has 128 Ki, Qwen 152 Ki
  static constexpr size_t kMaxMerges = size_t{1} << 21;
  static constexpr size_t kMaxValues = size_t{1} << 20;  // of the document
  static constexpr size_t kMaxDepth = 32;

  struct Text {
    uint32_t offset;
    uint32_t length;
  };
  struct VocabularyEntry {
    Text token;
    int32_t id;  // 0..INT32_MAX-1
  };
  struct Merge {
    Text left;
    Text right;
  };

  std::string path;
  nlohmann::json document;
  std::vector<VocabularyEntry> vocabulary;  // in the file's order, equal tokens not yet refused
  std::vector<Merge> merges;                // in rank order
  bool has_vocabulary = false;
  bool has_merges = false;
  std::string texts;  // what Text points into

  std::string_view Read(Text text) const {
    return std::string_view(texts).substr(text.offset, text.length);
  }
};

/// Reads and parses `path`. Throws ModelError when the file can't be read, is larger than
/// kMaxBytes, is not JSON (invalid UTF-8 included), names a key twice, or exceeds one of the limits
/// above.
TokenizerFile ReadTokenizerFile(const std::string& path);

/// The same from text that is already at hand; `path` is for messages.
TokenizerFile ParseTokenizerFile(const std::string& path, std::string_view text);

}  // namespace affine
