#include "model/tokenizer/tokenizer_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/model_error.h"
#include "model/quoted.h"
#include "model/tokenizer/config_node.h"
#include "model/utf8.h"

namespace affine {
namespace {

using nlohmann::json;

/// Builds a TokenizerFile while nlohmann's parser reads the text, so that a hostile file never
/// takes more than a small multiple of its own size.
class TokenizerFileBuilder : public nlohmann::json_sax<json> {
 public:
  explicit TokenizerFileBuilder(TokenizerFile* file) : file_(file) {}

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(number_integer_t value) override { return Value(value); }
  bool number_unsigned(number_unsigned_t value) override { return Value(value); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(size_t) override;
  bool end_object() override { return End(); }
  bool start_array(size_t) override;
  bool end_array() override;
  bool key(string_t& key) override;
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // The message repeats what was read last, which may be most of the file.
    const std::string shown = ReplaceInvalidUtf8(std::string_view(error.what()).substr(0, 200));
    Refuse("is not valid JSON at byte " + std::to_string(position) + ": " + shown);
  }

 private:
  enum class Place { kDocument, kVocabulary, kMerges, kMergePair };

  [[noreturn]] void Refuse(const std::string& why) const {
    throw ModelError(file_->path + ": " + why);
  }
  [[noreturn]] void RefuseTokenId(const std::string& shown) const {
    Refuse("model.vocab: token " + Quoted(file_->Read(token_)) + " has id " + shown +
           ", allowed is an integer in 0.." + std::to_string(ConfigNode::kMaxTokenId));
  }

  bool Value(json value);
  json* Add(json value);
  bool Start(json container);
  bool End() {
    if (place_ == Place::kVocabulary) {
      place_ = Place::kDocument;
    } else {
      open_.pop_back();
    }
    return true;
  }
  bool IsModelMember(std::string_view key) const {
    return open_.size() == 2 && keys_[0] == "model" && keys_[1] == key;
  }
  TokenizerFile::Text Keep(std::string_view text);
  void AddMerge(TokenizerFile::Text left, TokenizerFile::Text right);
  void AddSpelledMerge(std::string_view merge);

  TokenizerFile* file_;
  Place place_ = Place::kDocument;
  std::vector<json*> open_;        // the document's unfinished containers, outermost first
  std::vector<std::string> keys_;  // keys_[i] is the last key seen in open_[i]
  size_t values_ = 0;
  TokenizerFile::Text token_{};            // the key in kVocabulary
  std::vector<TokenizerFile::Text> pair_;  // the strings so far in kMergePair
};

json* TokenizerFileBuilder::Add(json value) {
  if (++values_ > TokenizerFile::kMaxValues) {
    Refuse("has more than " + std::to_string(TokenizerFile::kMaxValues) +
           " values outside model.vocab and model.merges");
  }
  if (open_.empty()) {
    file_->document = std::move(value);
    return &file_->document;
  }
  json& parent = *open_.back();
  if (parent.is_array()) {
    parent.push_back(std::move(value));
    return &parent.back();
  }
  const std::string& key = keys_[open_.size() - 1];
  if (parent.contains(key)) Refuse("names the key " + Quoted(key) + " twice in one object");
  return &(parent[key] = std::move(value));
}

bool TokenizerFileBuilder::Value(json value) {
  if (place_ == Place::kVocabulary) {
    const bool integer = value.is_number_integer();
    const bool too_large =
        value.is_number_unsigned() && value.get<uint64_t>() > ConfigNode::kMaxTokenId;
    if (!integer || too_large || value.get<int64_t>() < 0) RefuseTokenId(value.dump());
    if (file_->vocabulary.size() == TokenizerFile::kMaxTokens) {
      Refuse("model.vocab: more than " + std::to_string(TokenizerFile::kMaxTokens) + " tokens");
    }
    file_->vocabulary.push_back({token_, value.get<int32_t>()});
  } else if (place_ != Place::kDocument) {
    Refuse("model.merges: must hold strings or pairs of strings, has " + value.dump());
  } else {
    Add(std::move(value));
  }
  return true;
}

bool TokenizerFileBuilder::string(string_t& value) {
  switch (place_) {
    case Place::kVocabulary:
      RefuseTokenId(Quoted(value));
    case Place::kMerges:
      AddSpelledMerge(value);
      return true;
    case Place::kMergePair:
      pair_.push_back(Keep(value));
      if (pair_.size() > 2) Refuse("model.merges: a pair has more than two strings");
      return true;
    case Place::kDocument:
      break;
  }
  Add(std::move(value));
  return true;
}

bool TokenizerFileBuilder::Start(json container) {
  if (place_ == Place::kVocabulary) RefuseTokenId(container.type_name());
  if (place_ != Place::kDocument) Refuse("model.merges: must hold strings or pairs of strings");
  if (open_.size() == TokenizerFile::kMaxDepth) {
    Refuse("is nested deeper than " + std::to_string(TokenizerFile::kMaxDepth));
  }
  open_.push_back(Add(std::move(container)));
  keys_.resize(std::max(keys_.size(), open_.size()));
  keys_[open_.size() - 1].clear();
  return true;
}

bool TokenizerFileBuilder::start_object(size_t) {
  if (place_ == Place::kDocument && IsModelMember("vocab")) {
    if (file_->has_vocabulary) Refuse("names the key \"vocab\" twice in one object");
    file_->has_vocabulary = true;
    place_ = Place::kVocabulary;
    return true;
  }
  return Start(json::object());
}

bool TokenizerFileBuilder::start_array(size_t) {
  if (place_ == Place::kDocument && IsModelMember("merges")) {
    if (file_->has_merges) Refuse("names the key \"merges\" twice in one object");
    file_->has_merges = true;
    place_ = Place::kMerges;
    return true;
  }
  if (place_ == Place::kMerges) {
    place_ = Place::kMergePair;
    pair_.clear();
    return true;
  }
  return Start(json::array());
}

bool TokenizerFileBuilder::end_array() {
  if (place_ == Place::kMergePair) {
    if (pair_.size() != 2) Refuse("model.merges: a pair has fewer than two strings");
    AddMerge(pair_[0], pair_[1]);
    place_ = Place::kMerges;
  } else if (place_ == Place::kMerges) {
    place_ = Place::kDocument;
  } else {
    return End();
  }
  return true;
}

bool TokenizerFileBuilder::key(string_t& key) {
  if (place_ == Place::kVocabulary) {
    token_ = Keep(key);
  } else {
    keys_[open_.size() - 1] = std::move(key);
  }
  return true;
}

TokenizerFile::Text TokenizerFileBuilder::Keep(std::string_view text) {
  const size_t offset = file_->texts.size();
  file_->texts.append(text);
  return {static_cast<uint32_t>(offset), static_cast<uint32_t>(text.size())};
}

void TokenizerFileBuilder::AddMerge(TokenizerFile::Text left, TokenizerFile::Text right) {
  if (file_->merges.size() == TokenizerFile::kMaxMerges) {
    Refuse("model.merges: more than " + std::to_string(TokenizerFile::kMaxMerges) + " merges");
  }
  file_->merges.push_back({left, right});
}

void TokenizerFileBuilder::AddSpelledMerge(std::string_view merge) {
  if (merge.starts_with("#version")) return;  // the first line of a merges.txt
  const size_t space = merge.find(' ');
  if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
    Refuse("model.merges: " + Quoted(merge) + " must be two tokens with one space between them");
  }
  AddMerge(Keep(merge.substr(0, space)), Keep(merge.substr(space + 1)));
}

}  // namespace

TokenizerFile ParseTokenizerFile(const std::string& path, std::string_view text) {
  TokenizerFile file;
  file.path = path;
  TokenizerFileBuilder builder(&file);
  json::sax_parse(text.begin(), text.end(), &builder);  // what goes wrong is thrown by the builder
  return file;
}

TokenizerFile ReadTokenizerFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw ModelError(path + ": no such file; a checkpoint folder needs a tokenizer.json");
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw ModelError(path + ": can't be read: " + error.message());
  if (size > TokenizerFile::kMaxBytes) {
    throw ModelError(path + ": has " + std::to_string(size) + " bytes, allowed are " +
                     std::to_string(TokenizerFile::kMaxBytes));
  }
  std::string text(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream) throw ModelError(path + ": can't be read");
  return ParseTokenizerFile(path, text);
}

}  // namespace affine
