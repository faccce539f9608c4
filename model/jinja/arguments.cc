#include "model/jinja/arguments.h"

#include <algorithm>

namespace affine::jinja {

Parameters::Parameters(std::string_view what, const Arguments& given,
                       std::initializer_list<std::string_view> names, size_t required)
    : what_(what), names_(names), values_(names.size()) {
  const std::string subject(what);
  if (given.positional.size() > names_.size()) {
    throw TemplateError(subject + " takes at most " + std::to_string(names_.size()) +
                        " arguments, but was given " + std::to_string(given.positional.size()));
  }
  for (size_t i = 0; i < given.positional.size(); ++i) values_[i] = &given.positional[i];
  for (const auto& [name, value] : given.named) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw TemplateError(subject + " has no parameter " + name);
    const Value*& place = values_[static_cast<size_t>(found - names_.begin())];
    if (place != nullptr) throw TemplateError(subject + " was given " + name + " twice");
    place = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) {
      throw TemplateError(subject + " needs the argument " + std::string(names_[i]));
    }
  }
}

std::string_view Parameters::Text(size_t place, std::string_view absent) const {
  if (Absent(place)) return absent;
  if (!values_[place]->IsString()) Refuse(place, "str");
  return values_[place]->string();
}

int64_t Parameters::Integer(size_t place, int64_t absent) const {
  if (Absent(place)) return absent;
  const auto integer = IntegerOf(*values_[place]);
  if (!integer) Refuse(place, "int");
  return *integer;
}

bool Parameters::Flag(size_t place, bool absent) const {
  return Absent(place) ? absent : Truth(*values_[place]);
}

void Parameters::Refuse(size_t place, std::string_view wanted) const {
  RequireDefined(*values_[place]);
  throw TemplateError(std::string(what_) + " needs a " + std::string(wanted) + " as " +
                      std::string(names_[place]) + ", not a " + TypeName(*values_[place]));
}

}  // namespace affine::jinja
