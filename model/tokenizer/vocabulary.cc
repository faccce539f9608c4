#include "model/tokenizer/vocabulary.h"

#include <algorithm>

#include "model/model_error.h"
#include "model/quoted.h"
#include "model/tokenizer/config_node.h"

namespace affine {

Vocabulary::Vocabulary(const TokenizerFile& file)
    : index_(file.vocabulary.size(), file.texts.size()) {
  ids_.reserve(file.vocabulary.size());
  for (const TokenizerFile::VocabularyEntry& entry : file.vocabulary) {
    if (!index_.Insert(file.Read(entry.token), entry.id)) {
      throw ModelError(file.path + ": model.vocab: token " + Quoted(file.Read(entry.token)) +
                       " stands there twice");
    }
    ids_.push_back(entry.id);
  }
  std::sort(ids_.begin(), ids_.end());
  const auto twice = std::adjacent_find(ids_.begin(), ids_.end());
  if (twice != ids_.end()) {
    throw ModelError(file.path + ": model.vocab: two tokens have the id " + std::to_string(*twice));
  }
}

bool Vocabulary::HasId(int32_t id) const {
  return std::binary_search(ids_.begin(), ids_.end(), id);
}

}  // namespace affine
