// Small checkpoint folders for tests, sound until a test breaks them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// A folder of its own that goes with the object.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  std::string path() const { return path_; }
  std::string Write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

/// Bytes of a safetensors file with that header text and data.
std::string SafetensorsBytes(std::string_view header, std::string_view data);

/// What `action` throws as ModelError; a failure of the test and "" if it throws nothing.
std::string ErrorOf(const std::function<void()>& action);

/// Config and tensors of a tiny Llama: hidden 8, 2 heads of 4, 1 key head, 2 layers, 16 tokens.
class CheckpointBuilder {
 public:
  CheckpointBuilder();

  nlohmann::json config;
  std::map<std::string, std::vector<int64_t>> tensors;  // shapes; data counts up from 0

  void AddToLayers(const std::string& suffix, const std::vector<int64_t>& shape);
  /// A file that holds those of `tensors` that `chosen` accepts, in F32.
  std::string File(const std::function<bool(const std::string&)>& chosen) const;
  std::string File() const;
  /// Writes config.json and model.safetensors.
  void Write(const TempFolder& folder) const;
};

}  // namespace affine
