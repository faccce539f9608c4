#include "server/app/api_key.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace affine {
namespace {

constexpr std::streamsize kLongestFile = 4096;  // bytes
constexpr char kSpace[] = " \t\r\n";

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool Printable(const std::string& key) {
  for (const unsigned char c : key) {
    if (c <= 0x20 || c >= 0x7f) return false;
  }
  return true;
}

Outcome Bad(const Config& config, const std::string& why) {
  return {ExitCode::kConfig, "--api_key_file is '" + config.api_key_file + "', but " + why};
}

}  // namespace

std::variant<std::string, Outcome> ReadApiKey(const Config& config) {
  if (config.api_key_file.empty()) return config.api_key;
  errno = 0;
  std::ifstream file(config.api_key_file, std::ios::binary);
  std::string text(kLongestFile + 1, '\0');
  if (!file || !file.read(text.data(), kLongestFile + 1).eof()) {
    if (file) return Bad(config, "a key file may have at most 4096 bytes; name the key's own file");
    const std::string reason = errno != 0 ? std::strerror(errno) : "it is no plain file";
    return Bad(config, "it can't be read (" + reason + "); name a file that this user may read");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  const std::string key = Trimmed(text);
  if (key.empty()) return Bad(config, "it holds no key; write the key into it");
  if (!Printable(key)) {
    return Bad(config, "its key has characters that a header can't carry; use printable ASCII");
  }
  return key;
}

}  // namespace affine
