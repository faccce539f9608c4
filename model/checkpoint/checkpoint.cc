#include "model/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "model/checkpoint/checkpoint_files.h"
#include "model/checkpoint/expected_tensors.h"
#include "model/checkpoint/problem_list.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

using TensorMap = std::map<std::string, const TensorView*, std::less<>>;

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string FileName(const std::string& path) { return std::filesystem::path(path).filename(); }

/// All tensors of all files by name; a name in two files is a problem.
TensorMap GatherTensors(const std::vector<SafetensorsFile>& files, ProblemList& problems) {
  TensorMap tensors;
  std::map<std::string_view, const std::string*> origin;
  for (const SafetensorsFile& file : files) {
    for (const auto& [name, view] : file.tensors()) {
      if (tensors.emplace(name, &view).second) {
        origin[name] = &file.path();
      } else {
        problems.Add("twice", Quoted(name) + " in " + FileName(*origin[name]) + " and in " +
                                  FileName(file.path()));
      }
    }
  }
  return tensors;
}

/// Each tensor of the index must lie in the file that it names.
void CheckIndex(const CheckpointFiles& found, const std::vector<SafetensorsFile>& files,
                ProblemList& problems) {
  for (const auto& [tensor, path] : found.index) {
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&path = path](const auto& one) { return one.path() == path; });
    if (!file->tensors().contains(tensor)) {
      problems.Add("missing",
                   Quoted(tensor) + " in " + FileName(path) + ", where the index puts it");
    }
  }
}

void CheckTensors(const ModelConfig& config, TensorMap& tensors, ProblemList& problems) {
  const std::map<std::string, AllowedShapes> expected = ExpectedTensors(config);
  for (const auto& [name, shapes] : expected) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      problems.Add("missing", Quoted(name) + " of shape " + ShapeText(shapes.front()));
      continue;
    }
    const std::vector<int64_t>& shape = found->second->shape;
    if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) continue;
    std::string allowed;
    for (const auto& one : shapes) allowed += (allowed.empty() ? "" : " or ") + ShapeText(one);
    problems.Add("wrong shape",
                 Quoted(name) + " has " + ShapeText(shape) + "; allowed is " + allowed);
  }
  std::erase_if(tensors, [&](const auto& entry) {
    if (expected.contains(entry.first)) return false;
    if (!IsHarmlessExtra(entry.first, config)) {
      problems.Add("unexpected",
                   Quoted(entry.first) + " of shape " + ShapeText(entry.second->shape));
    }
    return true;
  });
}

}  // namespace

Checkpoint::Checkpoint(const std::string& folder) : config_(ReadModelConfig(folder)) {
  const CheckpointFiles found = FindCheckpointFiles(folder);
  ProblemList problems;
  files_.reserve(found.paths.size());
  for (const std::string& path : found.paths) files_.emplace_back(path, problems);
  tensors_ = GatherTensors(files_, problems);
  CheckIndex(found, files_, problems);
  CheckTensors(config_, tensors_, problems);
  problems.ThrowIfAny("The tensors of " + folder + " don't fit its config.json (" +
                          std::string(ArchitectureName(config_.architecture)) + "):",
                      "Copy or convert the checkpoint again, or correct config.json (its "
                      "\"attention\" key asks for "
                      "alpha_proj, alpha_ma, sinks and gate_proj).");
  for (const auto& [name, view] : tensors_) {
    num_parameters_ += static_cast<int64_t>(view->data.size()) / DtypeBytes(view->dtype);
    weight_bytes_ += static_cast<int64_t>(view->data.size());
  }
}

const TensorView& Checkpoint::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return *found->second;
  throw ModelError("The checkpoint has no tensor " + Quoted(name) +
                   " that its config.json asks for. Ask only for what the config names.");
}

}  // namespace affine
