// A Jinja template: the part of the language that chat templates use.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "model/jinja/syntax_tree.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

/// Immutable, and safe to use from several threads.
class Template {
 public:
  /// Parses `source`, UTF-8 of at most kMaxTemplateBytes. Throws TemplateError, which names the
  /// line, for what is no template, and for statements, filters and tests that are not there.
  explicit Template(std::string_view source);

  /// The text for `variables` (string keys), as Jinja's sandbox makes it with trim_blocks and
  /// lstrip_blocks and undefined values as nothing. `now` is what strftime_now writes. Throws
  /// TemplateError, also when `budget` is used up, and RaisedByTemplate.
  std::string Render(const Dict& variables, const std::tm& now, WorkBudget& budget) const;

 private:
  Block block_;
};

}  // namespace affine::jinja
