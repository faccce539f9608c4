#include "server/app/model_choice.h"

#include <filesystem>

#include "model/utf8.h"

namespace affine {
namespace {

constexpr size_t kLongestName = 256;  // bytes

std::string OwnName(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "models/smol/" ends in an empty name
  return path.filename().string();
}

std::variant<ModelChoice, UsageError> Checked(ModelChoice choice) {
  if (choice.folder.empty()) {
    return UsageError{"--model is '" + choice.name +
                      "=', but a folder must follow the equals sign"};
  }
  if (choice.name.empty() || choice.name.size() > kLongestName) {
    return UsageError{"the served name has " + std::to_string(choice.name.size()) +
                      " bytes, but must have from 1 to " + std::to_string(kLongestName) +
                      "; give one with --served_model_name"};
  }
  for (const unsigned char c : choice.name) {
    if (c < 0x20 || c == 0x7f || !IsValidUtf8(choice.name)) {
      return UsageError{
          "the served name must be UTF-8 without control characters; give one with "
          "--served_model_name"};
    }
  }
  return choice;
}

}  // namespace

std::variant<ModelChoice, UsageError> ChooseModel(const Config& config) {
  if (config.model.empty()) {
    return UsageError{
        "no model was given; name a checkpoint folder: affine_server FOLDER (--help lists all "
        "flags)"};
  }
  if (config.model.find(',') != std::string::npos ||
      config.served_model_name.find(',') != std::string::npos) {
    const bool folder = config.model.find(',') != std::string::npos;
    return UsageError{std::string(folder ? "--model is '" : "--served_model_name is '") +
                      (folder ? config.model : config.served_model_name) +
                      "', but one process serves one model under one name; start a process for "
                      "each, and link a folder whose name has a comma to one without"};
  }
  const size_t equals = config.model.find('=');
  const bool named =
      equals != std::string::npos && config.model.substr(0, equals).find('/') == std::string::npos;
  if (!named) {
    const std::string& given = config.served_model_name;
    return Checked({given.empty() ? OwnName(config.model) : given, config.model});
  }
  ModelChoice choice{config.model.substr(0, equals), config.model.substr(equals + 1)};
  if (!config.served_model_name.empty() && config.served_model_name != choice.name) {
    return UsageError{"--model names the model '" + choice.name +
                      "', but --served_model_name is '" + config.served_model_name +
                      "'; give one of the two"};
  }
  return Checked(choice);
}

}  // namespace affine
