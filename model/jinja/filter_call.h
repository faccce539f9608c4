// One application of a filter, as the functions behind the filters' names see it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

struct FilterCall {
  std::string_view name;
  const Value& subject;
  const Arguments& arguments;
  WorkBudget& budget;
  int depth;  // how many filters this one is applied inside of, by map

  Parameters Bind(std::initializer_list<std::string_view> names, size_t required = 0) const {
    return Parameters(name, arguments, names, required);
  }
};

using FilterFunction = Value (*)(const FilterCall& call);

/// The function behind a name, or null. Each looks in its own table.
FilterFunction FindTextFilter(std::string_view name);
FilterFunction FindListFilter(std::string_view name);
FilterFunction FindNumberFilter(std::string_view name);

/// Any filter, at `depth`.
Value ApplyFilterAt(int depth, std::string_view name, const Value& subject,
                    const Arguments& arguments, WorkBudget& budget);

}  // namespace affine::jinja
