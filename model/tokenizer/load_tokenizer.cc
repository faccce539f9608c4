#include <filesystem>

#include "model/tokenizer/byte_level_tokenizer.h"

namespace affine {

std::unique_ptr<Tokenizer> LoadTokenizer(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "tokenizer.json").string();
  return std::make_unique<ByteLevelTokenizer>(ReadTokenizerFile(path));
}

}  // namespace affine
