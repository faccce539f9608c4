// tokenizer.json files small enough to know by heart.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_error.h"
#include "model/tokenizer.h"
#include "model/tokenizer/byte_level_tokenizer.h"

namespace affine {

/// Starts as: every byte a token whose id is the byte's value, no merges, ByteLevel with GPT-2's
/// pattern, nothing else. Ids of further tokens count on from 256.
class TinyTokenizer {
 public:
  TinyTokenizer();

  /// Adds a merge of two spellings of the file (a space is "Ġ"), and its result if it is new.
  TinyTokenizer& Merge(const std::string& left, const std::string& right);
  /// Adds a token to the vocabulary.
  TinyTokenizer& Token(const std::string& token);
  /// Adds an added token, with the flags that `flags` names besides the defaults (all false).
  TinyTokenizer& Added(const std::string& content, const std::vector<std::string>& flags = {});
  /// Sets a member, by JSON pointer: Set("/model/unk_token", "<unk>").
  TinyTokenizer& Set(const std::string& pointer, nlohmann::json value);

  nlohmann::json& document() { return json_; }
  std::string text() const { return json_.dump(); }
  std::unique_ptr<Tokenizer> Load() const;
  /// The ids of `text` without special tokens.
  std::vector<int32_t> Encode(std::string_view text) const { return Load()->Encode(text, false); }
  /// The message of the ModelError that loading throws; a test failure if it throws none.
  std::string LoadError() const;

 private:
  nlohmann::json json_;
  int32_t next_id_ = 256;
};

/// Ids that spell `text` byte by byte.
inline std::vector<int32_t> Bytes(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
  return ids;
}

/// Concatenates lists of ids.
inline std::vector<int32_t> Ids(const std::vector<std::vector<int32_t>>& lists) {
  std::vector<int32_t> ids;
  for (const auto& list : lists) ids.insert(ids.end(), list.begin(), list.end());
  return ids;
}

/// Runs `call` and returns what the ModelError says that it throws.
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ModelError was thrown";
  return "";
}

/// A JSON value as a config node; the value lives as long as this.
class Config {
 public:
  explicit Config(const std::string& text) : json_(nlohmann::json::parse(text)) {}
  ConfigNode node() const { return ConfigNode(&json_, "tokenizer.json"); }

 private:
  nlohmann::json json_;
};

/// A folder of its own that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  void Write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace affine
