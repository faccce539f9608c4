// What a filter, test, method or function is called with.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja/value.h"

namespace affine::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Arguments by the place of their parameter.
class Parameters {
 public:
  /// `what` is called, with parameters of these names, the first `required` of them needed. Throws
  /// TemplateError for what doesn't fit.
  Parameters(std::string_view what, const Arguments& given,
             std::initializer_list<std::string_view> names, size_t required = 0);

  /// Null if it was not given.
  const Value* Given(size_t place) const { return values_[place]; }
  /// Below: throws if it is of another kind; none is as if it were not given.
  std::string_view Text(size_t place, std::string_view absent = {}) const;
  int64_t Integer(size_t place, int64_t absent) const;
  bool Flag(size_t place, bool absent) const;

 private:
  bool Absent(size_t place) const { return values_[place] == nullptr || values_[place]->IsNone(); }
  [[noreturn]] void Refuse(size_t place, std::string_view wanted) const;

  std::string_view what_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace affine::jinja
