#include "server/request/served_models.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/utf8.h"

namespace affine {

namespace {

/// Longest part of a caller's model name that an error repeats, in bytes.
constexpr size_t kMostRepeatedBytes = 128;

std::string Quoted(std::string_view name) {
  std::string_view head = name.substr(0, kMostRepeatedBytes);
  const bool cut = head.size() < name.size();
  if (cut) head.remove_suffix(IncompleteUtf8Suffix(head));
  std::string quoted("`");
  quoted.append(head).append(cut ? "...`" : "`");
  if (cut) quoted.append(" (").append(std::to_string(name.size())).append(" bytes)");
  return quoted;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return list.empty() ? "none" : list;
}

}  // namespace

ServedModels::ServedModels(std::vector<std::string> names) : names_(std::move(names)) {}

void ServedModels::Add(ServedModel model) {
  if (std::find(names_.begin(), names_.end(), model.name) == names_.end()) {
    throw std::invalid_argument("the model " + Quoted(model.name) +
                                " is not among the names to serve: " + Listed(names_));
  }
  std::lock_guard lock(mutex_);
  for (const ServedModel& known : models_) {
    if (known.name == model.name) {
      throw std::invalid_argument("the model " + Quoted(model.name) + " was added twice");
    }
  }
  models_.push_back(std::move(model));
}

void ServedModels::CloseForDrain() {
  std::lock_guard lock(mutex_);
  draining_ = true;
}

std::variant<const ServedModel*, RequestError> ServedModels::Find(std::string_view name) const {
  if (!IsValidUtf8(name)) {
    return RequestError{ErrorCause::kBadInput,
                        "`model` is not valid UTF-8; it must be one of " + Listed(names_), "model"};
  }
  if (name.empty() && !names_.empty()) name = names_.front();
  std::lock_guard lock(mutex_);
  if (draining_) {
    return RequestError{ErrorCause::kUnavailable,
                        "the server is shutting down and takes no new requests; try another "
                        "instance",
                        ""};
  }
  for (const ServedModel& model : models_) {
    if (model.name == name) return &model;
  }
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    return RequestError{ErrorCause::kUnavailable,
                        "the model " + Quoted(name) + " is still loading; try again later", ""};
  }
  const std::string served = " is not served here; served models: " + Listed(names_);
  return RequestError{.cause = ErrorCause::kUnknownModel,
                      .message = "the model " + Quoted(name) + served,
                      .param = "model",
                      .log_message = "the model that was asked for" + served};
}

std::vector<const ServedModel*> ServedModels::List() const {
  std::lock_guard lock(mutex_);
  std::vector<const ServedModel*> list;
  for (const std::string& name : names_) {
    for (const ServedModel& model : models_) {
      if (model.name == name) list.push_back(&model);
    }
  }
  return list;
}

bool ServedModels::IsLoaded(std::string_view name) const {
  std::lock_guard lock(mutex_);
  return std::any_of(models_.begin(), models_.end(),
                     [&](const ServedModel& model) { return model.name == name; });
}

bool ServedModels::ready() const {
  std::lock_guard lock(mutex_);
  return !draining_ && models_.size() == names_.size();
}

}  // namespace affine
