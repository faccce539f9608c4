#include "model/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "model/checkpoint/json_object.h"
#include "model/checkpoint/problem_list.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

namespace fs = std::filesystem;

constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr size_t kMaxIndexBytes = 16 << 20;
constexpr size_t kMaxFiles = 4096;

/// True for a relative path without "..", which hence stays inside. Symbolic links may lead out:
/// they belong to whoever made the folder, not to whoever wrote the index.
bool StaysInside(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos) return false;
  const fs::path path(name);
  if (path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

CheckpointFiles ReadIndex(const fs::path& folder) {
  const nlohmann::json document = ReadJsonFile(folder / kIndexName, kMaxIndexBytes);
  const JsonObject top(document, kIndexName);
  const auto map = top.Object("weight_map");
  if (!map) top.RefuseAbsent("weight_map");
  CheckpointFiles files;
  std::set<std::string> paths;
  for (const auto& [tensor, file] : map->json().items()) {
    if (!file.is_string()) {
      throw ModelError(std::string(kIndexName) + ": weight_map names no file for " +
                       Quoted(tensor) + ". Copy the checkpoint again.");
    }
    const auto& name = file.get_ref<const std::string&>();
    if (!StaysInside(name) || !name.ends_with(".safetensors")) {
      throw ModelError(std::string(kIndexName) + ": weight_map names " + Quoted(name) +
                       ". Allowed is a *.safetensors file inside the folder, without '..'. "
                       "Correct the index.");
    }
    const std::string path = (folder / name).lexically_normal();
    paths.insert(path);
    files.index.emplace(tensor, path);
  }
  if (paths.size() > kMaxFiles) {
    throw ModelError(std::string(kIndexName) + " names " + std::to_string(paths.size()) +
                     " files; allowed are " + std::to_string(kMaxFiles) + ". Use fewer shards.");
  }
  files.paths.assign(paths.begin(), paths.end());
  return files;
}

/// Names of the folder's files with one of the endings, sorted.
std::vector<std::string> FilesEnding(const fs::path& folder,
                                     std::initializer_list<const char*> endings) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    throw ModelError("Cannot read the checkpoint folder " + folder.string() + ": " +
                     error.message() + ". Name a folder with config.json and *.safetensors.");
  }
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename();
    for (const char* ending : endings) {
      if (name.ends_with(ending)) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

CheckpointFiles FindCheckpointFiles(const std::string& folder) {
  const fs::path path(folder);
  const std::vector<std::string> names = FilesEnding(path, {".safetensors"});
  CheckpointFiles files;
  if (std::find(names.begin(), names.end(), "model.safetensors") != names.end()) {
    files.paths = {path / "model.safetensors"};
    return files;
  }
  if (!FilesEnding(path, {kIndexName}).empty()) return ReadIndex(path);
  for (const std::string& name : names) files.paths.push_back(path / name);
  if (!files.paths.empty()) return files;
  const std::vector<std::string> pickles =
      FilesEnding(path, {".bin", ".pt", ".pth", ".ckpt", ".pkl"});
  if (!pickles.empty()) {
    throw ModelError(folder + " has its weights as " + Quoted(pickles.front()) +
                     " alone. Such a file can run code when it is opened, so it is never loaded. "
                     "Convert it to model.safetensors where you trust it, or take the model's "
                     "safetensors files.");
  }
  throw ModelError(folder +
                   " has no *.safetensors file. Name a folder with config.json and "
                   "model.safetensors.");
}

}  // namespace affine
