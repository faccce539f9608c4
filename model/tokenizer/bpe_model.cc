#include "model/tokenizer/bpe_model.h"

#include <string>

#include "model/model_error.h"
#include "model/quoted.h"
#include "model/tokenizer/code_point.h"
#include "model/tokenizer/merge_queue.h"

namespace affine {
namespace {

/// Up to this many bytes, looking for the best merge among all is faster than a heap.
constexpr size_t kShortWord = 64;

void RequireEmpty(const ConfigNode& option) {
  if (!option.IsNull() && !option.String().empty()) {
    option.Refuse("is " + Quoted(option.String()) + "; only null and \"\" are supported");
  }
}

}  // namespace

BpeModel::BpeModel(const ConfigNode& config, const TokenizerFile& file,
                   const Vocabulary& vocabulary, const ByteAlphabet& alphabet)
    : merges_(file.merges.size()), whole_words_(vocabulary.size(), file.texts.size()) {
  ReadOptions(config, vocabulary);
  if (!file.has_vocabulary) config.Member("vocab").Refuse("must be an object of tokens and ids");
  if (!file.has_merges) config.Member("merges").Refuse("must be an array of merges");
  ReadBytes(vocabulary, alphabet);
  ReadMerges(file, vocabulary);
  ReadWholeWords(file, alphabet);
}

void BpeModel::ReadOptions(const ConfigNode& config, const Vocabulary& vocabulary) {
  const ConfigNode type = config.Member("type");
  if (!type.IsNull() && type.String() != "BPE") {  // GPT-2's file has no type
    type.Refuse("model " + Quoted(type.String()) + " is not supported, only BPE is");
  }
  if (config.Member("byte_fallback").BoolOr(false)) {
    config.Member("byte_fallback").Refuse("true is not supported, only false is");
  }
  RequireEmpty(config.Member("continuing_subword_prefix"));
  RequireEmpty(config.Member("end_of_word_suffix"));
  config.Member("dropout").RequireZeroOrNull();
  ignore_merges_ = config.Member("ignore_merges").BoolOr(false);
  fuse_unknown_ = config.Member("fuse_unk").BoolOr(false);
  const ConfigNode unknown = config.Member("unk_token");
  if (unknown.IsNull()) return;
  unknown_id_ = vocabulary.Find(unknown.String());
  if (unknown_id_ < 0) unknown.Refuse(Quoted(unknown.String()) + " is not in model.vocab");
}

void BpeModel::ReadBytes(const Vocabulary& vocabulary, const ByteAlphabet& alphabet) {
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    AppendUtf8(alphabet.Character(static_cast<uint8_t>(byte)), &character);
    byte_ids_[byte] = vocabulary.Find(character);
  }
}

void BpeModel::ReadMerges(const TokenizerFile& file, const Vocabulary& vocabulary) {
  std::string merged;
  for (size_t rank = 0; rank < file.merges.size(); ++rank) {
    const std::string_view left = file.Read(file.merges[rank].left);
    const std::string_view right = file.Read(file.merges[rank].right);
    merged.assign(left).append(right);
    const auto find = [&](std::string_view token) {
      const int32_t id = vocabulary.Find(token);
      if (id < 0) {
        throw ModelError(file.path + ": model.merges[" + std::to_string(rank) + "]: token " +
                         Quoted(token) + " is not in model.vocab");
      }
      return id;
    };
    const int32_t left_id = find(left);
    const int32_t right_id = find(right);
    merges_.Set(left_id, right_id, {static_cast<uint32_t>(rank), find(merged)});
  }
}

void BpeModel::ReadWholeWords(const TokenizerFile& file, const ByteAlphabet& alphabet) {
  std::string bytes;
  std::vector<int32_t> ids;
  for (const TokenizerFile::VocabularyEntry& entry : file.vocabulary) {
    if (!alphabet.ToBytes(file.Read(entry.token), &bytes) || bytes.empty()) continue;
    if (!ignore_merges_) {
      if (bytes.size() > kShortWord) continue;  // rare, and not worth the time
      ids.clear();
      EncodeByMerging(bytes, &ids);
      if (ids.size() != 1 || ids[0] != entry.id) continue;
    }
    whole_words_.Insert(bytes, entry.id);
  }
}

void BpeModel::Encode(std::string_view word, std::vector<int32_t>* ids) const {
  const int32_t whole = whole_words_.Find(word);
  if (whole >= 0) {
    ids->push_back(whole);
  } else {
    EncodeByMerging(word, ids);
  }
}

void BpeModel::EncodeByMerging(std::string_view word, std::vector<int32_t>* ids) const {
  if (word.size() > kShortWord) return EncodeLong(word, ids);
  std::array<int32_t, kShortWord> symbols;
  MergeShort(symbols.data(), FirstSymbols(word, symbols.data()), ids);
}

size_t BpeModel::FirstSymbols(std::string_view word, int32_t* symbols) const {
  size_t count = 0;
  bool last_unknown = false;
  for (const char byte : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id >= 0) {
      symbols[count++] = id;
    } else if (unknown_id_ >= 0 && !(last_unknown && fuse_unknown_)) {
      symbols[count++] = unknown_id_;
    }
    last_unknown = id < 0;
  }
  return count;
}

void BpeModel::MergeShort(int32_t* symbols, size_t count, std::vector<int32_t>* ids) const {
  std::array<MergeTable::Merge, kShortWord> next;  // next[i]: of symbols i and i + 1
  for (size_t i = 0; i + 1 < count; ++i) next[i] = merges_.Find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (next[i].rank < next[best].rank) best = i;  // the leftmost of equals
    }
    if (next[best].rank == MergeTable::kNoRank) break;
    symbols[best] = next[best].id;
    for (size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      next[i - 1] = next[i];
    }
    --count;
    if (best > 0) next[best - 1] = merges_.Find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) next[best] = merges_.Find(symbols[best], symbols[best + 1]);
  }
  ids->insert(ids->end(), symbols, symbols + count);
}

void BpeModel::EncodeLong(std::string_view word, std::vector<int32_t>* ids) const {
  std::vector<int32_t> symbols(word.size());
  symbols.resize(FirstSymbols(word, symbols.data()));
  MergeQueue(merges_, std::move(symbols)).Run(ids);
}

}  // namespace affine
