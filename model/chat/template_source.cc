#include "model/chat/template_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/checkpoint/json_object.h"
#include "model/jinja/work_budget.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMaxConfigBytes = size_t{64} << 20;
constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                          "sep_token", "cls_token", "mask_token"};

json ReadIfThere(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  return ReadJsonFile(path.string(), kMaxConfigBytes);
}

std::string ReadText(const std::string& path, const char* remedy) {
  const auto refuse = [&](const std::string& why) {
    throw ModelError("the chat template " + Quoted(path) + " " + why + remedy);
  };
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) refuse("can't be read: " + error.message());
  if (size > jinja::kMaxTemplateBytes) {
    refuse("has " + std::to_string(size) + " bytes; the limit is " +
           std::to_string(jinja::kMaxTemplateBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad() || text.size() != size) refuse("can't be read");
  return text;
}

// `chat_template` of tokenizer_config.json: a text, or a list of texts with names.
std::optional<std::string> TemplateIn(const json& config) {
  const auto found = config.find("chat_template");
  if (found == config.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return std::nullopt;
  for (const json& entry : *found) {
    if (!entry.is_object() || entry.value("name", json()) != "default") continue;
    const json text = entry.value("template", json());
    if (text.is_string()) return text.get<std::string>();
  }
  return std::nullopt;
}

// A token is written as its text, or as an object with the text as `content`.
std::optional<std::string> TokenIn(const json& config, const char* name) {
  const auto found = config.find(name);
  if (found == config.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object()) return std::nullopt;
  const json content = found->value("content", json());
  return content.is_string() ? std::optional(content.get<std::string>()) : std::nullopt;
}

}  // namespace

TemplateSource ReadTemplateSource(const ChatTemplateOptions& options) {
  const fs::path folder(options.folder);
  const json config = ReadIfThere(folder / "tokenizer_config.json");
  const json map = ReadIfThere(folder / "special_tokens_map.json");
  TemplateSource source;
  for (const char* name : kSpecialTokens) {
    std::optional<std::string> token = TokenIn(config, name);
    if (!token) token = TokenIn(map, name);
    if (token) source.special_tokens.emplace_back(name, *std::move(token));
  }
  const fs::path own = folder / "chat_template.jinja";
  if (!options.file.empty()) {
    source.place = options.file;
    source.text = ReadText(options.file, "; give another file with --chat_template");
  } else if (fs::exists(own)) {
    source.place = own.string();
    source.text = ReadText(own.string(), "; mend it, or give another file with --chat_template");
  } else {
    source.place = (folder / "tokenizer_config.json").string() + ": chat_template";
    source.text = TemplateIn(config);
  }
  return source;
}

}  // namespace affine
