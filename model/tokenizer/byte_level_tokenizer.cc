#include "model/tokenizer/byte_level_tokenizer.h"

#include "model/quoted.h"
#include "model/utf8.h"

namespace affine {
namespace {

/// The four parts of the file other than the vocabulary that decide whether it is supported at all.
ConfigNode CheckedTopLevel(const TokenizerFile& file) {
  const ConfigNode config(&file.document, file.path);
  const ConfigNode version = config.Member("version");
  if (!version.IsNull() && version.String() != "1.0") {
    version.Refuse("version " + Quoted(version.String()) + " is not known, only \"1.0\" is");
  }
  const ConfigNode decoder = config.Member("decoder");
  const std::string& type = decoder.Member("type").String();
  if (type != "ByteLevel") {
    decoder.Refuse("decoder " + Quoted(type) + " is not supported, only ByteLevel is");
  }
  return config;
}

}  // namespace

ByteLevelTokenizer::ByteLevelTokenizer(const TokenizerFile& file)
    : ByteLevelTokenizer(file, CheckedTopLevel(file), Vocabulary(file), ByteAlphabet()) {}

ByteLevelTokenizer::ByteLevelTokenizer(const TokenizerFile& file, const ConfigNode& config,
                                       const Vocabulary& vocabulary, const ByteAlphabet& alphabet)
    : normalizer_(config.Member("normalizer")),
      pre_tokenizer_(config.Member("pre_tokenizer")),
      post_processor_(config.Member("post_processor")),
      model_(config.Member("model"), file, vocabulary, alphabet),
      added_tokens_(config.Member("added_tokens"), normalizer_, vocabulary) {
  FillTokens(file, alphabet);
  CheckSpecialTokens(config.Member("post_processor"));
}

void ByteLevelTokenizer::FillTokens(const TokenizerFile& file, const ByteAlphabet& alphabet) {
  std::string bytes;
  const auto set = [&](int32_t id, std::string_view token) {
    // A token with a character outside the alphabet stands for its own UTF-8.
    tokens_.Set(id, alphabet.ToBytes(token, &bytes) ? std::string_view(bytes) : token);
  };
  for (const TokenizerFile::VocabularyEntry& entry : file.vocabulary) {
    set(entry.id, file.Read(entry.token));
  }
  for (const AddedToken& token : added_tokens_.tokens()) {
    set(token.id, token.content);
    if (token.special) special_ids_.insert(token.id);
  }
  tokens_.Freeze();
}

void ByteLevelTokenizer::CheckSpecialTokens(const ConfigNode& config) const {
  for (const auto* ids : {&post_processor_.prefix(), &post_processor_.suffix()}) {
    for (const int32_t id : *ids) {
      if (!tokens_.Contains(id)) config.Refuse("no token has the id " + std::to_string(id));
    }
  }
}

std::vector<int32_t> ByteLevelTokenizer::Encode(std::string_view text,
                                                bool add_special_tokens) const {
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  if (add_special_tokens) ids = post_processor_.prefix();
  PreTokenizer::Scratch scratch;
  std::vector<AddedTokens::Segment> verbatim;
  std::vector<AddedTokens::Segment> normalized;
  std::string buffer;
  added_tokens_.Cut(text, false, &scratch.split.regex, &verbatim);
  for (const AddedTokens::Segment& part : verbatim) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    normalized.clear();
    added_tokens_.Cut(normalizer_.Apply(part.text, &buffer), true, &scratch.split.regex,
                      &normalized);
    for (const AddedTokens::Segment& segment : normalized) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        EncodeSegment(segment.text, &scratch, &ids);
      }
    }
  }
  if (add_special_tokens) {
    ids.insert(ids.end(), post_processor_.suffix().begin(), post_processor_.suffix().end());
  }
  return ids;
}

void ByteLevelTokenizer::EncodeSegment(std::string_view text, PreTokenizer::Scratch* scratch,
                                       std::vector<int32_t>* ids) const {
  pre_tokenizer_.Split(text, scratch);
  for (const std::string_view word : scratch->pieces) model_.Encode(word, ids);
}

std::string ByteLevelTokenizer::Decode(std::span<const int32_t> ids,
                                       bool skip_special_tokens) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (skip_special_tokens && IsSpecial(id)) continue;
    bytes += tokens_.Find(id);
  }
  return IsValidUtf8(bytes) ? bytes : ReplaceInvalidUtf8(bytes);
}

}  // namespace affine
