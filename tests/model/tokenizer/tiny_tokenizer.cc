#include "tests/model/tokenizer/tiny_tokenizer.h"

#include <cstdlib>
#include <stdexcept>

#include "model/tokenizer/code_point.h"

namespace affine {

TinyTokenizer::TinyTokenizer() {
  json_ = nlohmann::json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                      "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
              "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": {},
              "merges": []}})");
  const ByteAlphabet alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    AppendUtf8(alphabet.Character(static_cast<uint8_t>(byte)), &token);
    json_["model"]["vocab"][token] = byte;
  }
}

TinyTokenizer& TinyTokenizer::Merge(const std::string& left, const std::string& right) {
  json_["model"]["merges"].push_back(left + " " + right);
  if (!json_["model"]["vocab"].contains(left + right)) Token(left + right);
  return *this;
}

TinyTokenizer& TinyTokenizer::Token(const std::string& token) {
  json_["model"]["vocab"][token] = next_id_++;
  return *this;
}

TinyTokenizer& TinyTokenizer::Added(const std::string& content,
                                    const std::vector<std::string>& flags) {
  const nlohmann::json& vocabulary = json_["model"]["vocab"];
  nlohmann::json token = {{"content", content}, {"single_word", false}, {"lstrip", false},
                          {"rstrip", false},    {"normalized", false},  {"special", false}};
  token["id"] = vocabulary.contains(content) ? vocabulary[content].get<int32_t>() : next_id_++;
  for (const std::string& flag : flags) token[flag] = true;
  json_["added_tokens"].push_back(token);
  return *this;
}

TinyTokenizer& TinyTokenizer::Set(const std::string& pointer, nlohmann::json value) {
  json_[nlohmann::json::json_pointer(pointer)] = std::move(value);
  return *this;
}

std::unique_ptr<Tokenizer> TinyTokenizer::Load() const {
  return std::make_unique<ByteLevelTokenizer>(ParseTokenizerFile("tokenizer.json", text()));
}

std::string TinyTokenizer::LoadError() const {
  return ErrorOf([this] { Load(); });
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tokenizer_test.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

void TemporaryFolder::Write(const std::string& name, std::string_view text) const {
  std::ofstream stream(std::filesystem::path(path_) / name, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("can't write " + name);
}

}  // namespace affine
