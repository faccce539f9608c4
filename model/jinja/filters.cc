#include "model/jinja/filters.h"

#include "model/jinja/filter_call.h"

namespace affine::jinja {
namespace {

/// map applies filters, and so may map again.
constexpr int kMaxFilterDepth = 8;

FilterFunction Find(std::string_view name) {
  if (const FilterFunction found = FindTextFilter(name)) return found;
  if (const FilterFunction found = FindListFilter(name)) return found;
  return FindNumberFilter(name);
}

}  // namespace

bool IsFilter(std::string_view name) { return Find(name) != nullptr; }

Value ApplyFilterAt(int depth, std::string_view name, const Value& subject,
                    const Arguments& arguments, WorkBudget& budget) {
  budget.Steps(subject.IsString() ? 1 + static_cast<int64_t>(subject.string().size() / 64) : 1);
  if (depth > kMaxFilterDepth) throw TemplateError("filters are nested too deep in map");
  const FilterFunction filter = Find(name);
  if (filter == nullptr) throw TemplateError("there is no filter '" + std::string(name) + "' here");
  return filter({name, subject, arguments, budget, depth});
}

Value ApplyFilter(std::string_view name, const Value& subject, const Arguments& arguments,
                  WorkBudget& budget) {
  return ApplyFilterAt(0, name, subject, arguments, budget);
}

}  // namespace affine::jinja
