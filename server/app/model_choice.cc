#include "server/app/model_choice.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "model/utf8.h"
#include "server/app/cache_shares.h"
#include "server/app/chat_template_files.h"
#include "server/app/comma_list.h"

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

std::optional<UsageError> Fault(const ModelChoice& choice) {
  if (choice.folder.empty()) {
    return UsageError{"--model has '" + choice.name +
                      "=', but a folder must follow the equals sign"};
  }
  if (choice.name.empty() || choice.name.size() > kLongestName) {
    return UsageError{"the served name of '" + choice.folder + "' has " +
                      std::to_string(choice.name.size()) + " bytes, but must have from 1 to " +
                      std::to_string(kLongestName) + "; give one with --served_model_name"};
  }
  for (const unsigned char c : choice.name) {
    if (c < 0x20 || c == 0x7f || !IsValidUtf8(choice.name)) {
      return UsageError{"the served name of '" + choice.folder +
                        "' must be UTF-8 without control characters; give one with "
                        "--served_model_name"};
    }
  }
  return std::nullopt;
}

/// One FOLDER or NAME=FOLDER; `given` is its --served_model_name, or empty.
std::variant<ModelChoice, UsageError> ReadModel(const std::string& model,
                                                const std::string& given) {
  ModelChoice choice;
  const size_t equals = model.find('=');
  const bool named =
      equals != std::string::npos && model.substr(0, equals).find('/') == std::string::npos;
  if (named) {
    choice = {model.substr(0, equals), model.substr(equals + 1)};
    if (!given.empty() && given != choice.name) {
      return UsageError{"--model names the model '" + choice.name +
                        "', but --served_model_name is '" + given + "'; give one of the two"};
    }
  } else {
    choice = {given.empty() ? OwnName(model) : given, model};
  }
  if (auto fault = Fault(choice)) return *fault;
  return choice;
}

/// What is wrong with the lists as such.
std::optional<UsageError> ListFault(const Config& config, const std::vector<std::string>& models,
                                    const std::vector<std::string>& names) {
  const std::string model = "--model is '" + config.model + "'";
  if (models.empty()) {
    return UsageError{
        "no model was given; name a checkpoint folder: affine_server FOLDER (--help lists all "
        "flags)"};
  }
  if (std::count(models.begin(), models.end(), "") > 0) {
    return UsageError{model +
                      ", but a part of it is empty; name a folder between any two commas, and "
                      "write \\, for a comma in a folder's name"};
  }
  if (models.size() > kMostModels) {
    return UsageError{model + ", which is " + std::to_string(models.size()) +
                      " models, but one process serves at most " + std::to_string(kMostModels) +
                      "; start another process for the others"};
  }
  if (std::count(names.begin(), names.end(), "") > 0 ||
      (!names.empty() && names.size() != models.size())) {
    return UsageError{"--served_model_name is '" + config.served_model_name +
                      "', but must have one name for each model of --model, of which there are " +
                      std::to_string(models.size()) + "; write \\, for a comma in a name"};
  }
  return std::nullopt;
}

std::optional<UsageError> DoubledName(const Config& config, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return UsageError{"--model is '" + config.model + "', but two of its models are called '" +
                    *twice + "'; name each differently: --model=NAME=FOLDER,NAME=FOLDER"};
}

}  // namespace

std::variant<std::vector<ModelChoice>, UsageError> ChooseModels(const Config& config) {
  const std::vector<std::string> models = CommaList(config.model);
  const std::vector<std::string> given = CommaList(config.served_model_name);
  if (auto fault = ListFault(config, models, given)) return *fault;
  std::vector<ModelChoice> choices;
  std::vector<std::string> names;
  for (size_t i = 0; i < models.size(); ++i) {
    auto choice = ReadModel(models[i], given.empty() ? "" : given[i]);
    if (auto* error = std::get_if<UsageError>(&choice)) return *error;
    choices.push_back(std::get<ModelChoice>(std::move(choice)));
    names.push_back(choices.back().name);
  }
  if (auto error = DoubledName(config, names)) return *error;
  const auto shares = CacheShares(config.kv_cache_shares, names);
  if (auto* error = std::get_if<UsageError>(&shares)) return *error;
  const auto templates = ChatTemplateFiles(config.chat_template, names);
  if (auto* error = std::get_if<UsageError>(&templates)) return *error;
  for (size_t i = 0; i < choices.size(); ++i) {
    choices[i].cache_share = std::get<std::vector<double>>(shares)[i];
    choices[i].chat_template = std::get<std::vector<std::string>>(templates)[i];
  }
  return choices;
}

}  // namespace affine
