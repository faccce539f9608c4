#include "server/app/chat_template_files.h"

#include <algorithm>

#include "server/app/comma_list.h"

namespace affine {
namespace {

UsageError Bad(const std::string& flag, const std::string& why) {
  return {"--chat_template is '" + flag + "', but " + why};
}

}  // namespace

std::variant<std::vector<std::string>, UsageError> ChatTemplateFiles(
    const std::string& flag, const std::vector<std::string>& names) {
  std::vector<std::string> files(names.size());
  const std::vector<std::string> parts = CommaList(flag);
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    const bool named = equals != std::string::npos && part.find('/') > equals;
    if (!named && parts.size() > 1) {
      return Bad(flag, "'" + part + "' in it must be NAME=FILE, such as " + names[0] +
                           "=chat.jinja; write \\, for a comma in a file's name");
    }
    if (!named) {
      files.assign(names.size(), part);
      break;
    }
    const std::string name = part.substr(0, equals);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      return Bad(
          flag, "no model is called '" + name + "'; write ./" + part + " if that is a file's name");
    }
    std::string& file = files[static_cast<size_t>(known - names.begin())];
    if (!file.empty()) return Bad(flag, "'" + name + "' is in it twice; give each model one file");
    file = part.substr(equals + 1);
    if (file.empty()) return Bad(flag, "a file must follow the equals sign of '" + part + "'");
  }
  return files;
}

}  // namespace affine
