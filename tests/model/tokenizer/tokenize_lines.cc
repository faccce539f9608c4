// Encodes length-prefixed records from stdin for compare_with_hf.py:
//   tokenize_lines FOLDER [--time]
// A record is a little-endian uint32 and that many bytes. Each answers one line on stdout:
//   ids without special tokens | ids with them | their text in hex | and without special tokens
// --time encodes all records once more and prints bytes, tokens and processor seconds on stderr.
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "model/tokenizer.h"

namespace {

bool ReadRecord(std::string* record) {
  unsigned char prefix[4];
  if (!std::cin.read(reinterpret_cast<char*>(prefix), sizeof(prefix))) return false;
  record->resize(prefix[0] | prefix[1] << 8 | prefix[2] << 16 | size_t{prefix[3]} << 24);
  return static_cast<bool>(
      std::cin.read(record->data(), static_cast<std::streamsize>(record->size())));
}

void AppendIds(const std::vector<int32_t>& ids, std::string* line) {
  for (const int32_t id : ids) *line += std::to_string(id) + ' ';
  *line += '|';
}

void AppendHex(const std::string& text, std::string* line) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const unsigned char byte : text) {
    *line += kDigits[byte >> 4];
    *line += kDigits[byte & 15];
  }
}

void Time(const affine::Tokenizer& tokenizer, const std::vector<std::string>& records) {
  size_t bytes = 0;
  size_t tokens = 0;
  const std::clock_t start = std::clock();
  for (const std::string& record : records) {
    bytes += record.size();
    tokens += tokenizer.Encode(record, false).size();
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cerr << bytes << ' ' << tokens << ' ' << seconds << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && std::strcmp(argv[2], "--time") != 0)) {
    std::cerr << "usage: tokenize_lines FOLDER [--time]\n";
    return 2;
  }
  try {
    const auto tokenizer = affine::LoadTokenizer(argv[1]);
    std::vector<std::string> records;
    for (std::string record; ReadRecord(&record);) records.push_back(record);
    for (const std::string& record : records) {
      const std::vector<int32_t> ids = tokenizer->Encode(record, true);
      std::string line;
      AppendIds(tokenizer->Encode(record, false), &line);
      AppendIds(ids, &line);
      AppendHex(tokenizer->Decode(ids, false), &line);
      line += '|';
      AppendHex(tokenizer->Decode(ids, true), &line);
      std::cout << line << '\n';
    }
    if (argc == 3) Time(*tokenizer, records);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
