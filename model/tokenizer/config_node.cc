#include "model/tokenizer/config_node.h"

#include "model/quoted.h"
#include "model/utf8.h"

namespace affine {

void ConfigNode::Refuse(const std::string& why) const {
  throw ModelError(file_ + ": " + (path_.empty() ? "top level" : path_) + ": " + why);
}

void ConfigNode::RefuseType(const std::string& wanted) const {
  Refuse("must be " + wanted + ", is " + (value_ == nullptr ? "absent" : value_->type_name()));
}

ConfigNode ConfigNode::Member(const std::string& key) const {
  if (IsNull() || !value_->is_object()) RefuseType("an object");
  const auto found = value_->find(key);
  const std::string shown = key.size() > 40 ? Quoted(key) : key;
  return {found == value_->end() ? nullptr : &*found, file_,
          path_.empty() ? shown : path_ + "." + shown};
}

std::vector<std::pair<std::string, ConfigNode>> ConfigNode::Members() const {
  if (IsNull() || !value_->is_object()) RefuseType("an object");
  std::vector<std::pair<std::string, ConfigNode>> members;
  for (const auto& [key, value] : value_->items()) members.emplace_back(key, Member(key));
  return members;
}

std::vector<ConfigNode> ConfigNode::Elements() const {
  if (IsNull() || !value_->is_array()) RefuseType("an array");
  std::vector<ConfigNode> elements;
  for (size_t i = 0; i < value_->size(); ++i) {
    elements.push_back({&(*value_)[i], file_, path_ + "[" + std::to_string(i) + "]"});
  }
  return elements;
}

const std::string& ConfigNode::String() const {
  if (!IsString()) RefuseType("a string");
  return value_->get_ref<const std::string&>();
}

bool ConfigNode::Bool() const {
  if (IsNull() || !value_->is_boolean()) RefuseType("true or false");
  return value_->get<bool>();
}

int32_t ConfigNode::TokenId() const {
  if (IsNull() || !value_->is_number_integer()) RefuseType("an integer");
  const bool too_large = value_->is_number_unsigned() && value_->get<uint64_t>() > kMaxTokenId;
  if (too_large || value_->get<int64_t>() < 0) {
    Refuse("id " + value_->dump() + " is outside 0.." + std::to_string(kMaxTokenId));
  }
  return value_->get<int32_t>();
}

void ConfigNode::RequireZeroOrNull() const {
  if (IsNull() || (value_->is_number() && value_->get<double>() == 0)) return;
  Refuse(value_->dump() + " is not supported, only null and 0 are");
}

}  // namespace affine
