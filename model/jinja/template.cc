#include "model/jinja/template.h"

#include "model/jinja/functions.h"
#include "model/jinja/lexer.h"
#include "model/jinja/renderer.h"
#include "model/jinja/statement_parser.h"
#include "model/utf8.h"

namespace affine::jinja {
namespace {

std::string_view Checked(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    throw TemplateError("the template has " + std::to_string(source.size()) +
                        " bytes; the limit is " + std::to_string(kMaxTemplateBytes));
  }
  if (!IsValidUtf8(source)) throw TemplateError("the template is not valid UTF-8");
  return source;
}

}  // namespace

Template::Template(std::string_view source)
    : block_(StatementParser(Tokenize(Checked(source))).ParseTemplate()) {}

std::string Template::Render(const Dict& variables, const std::tm& now, WorkBudget& budget) const {
  Scope scope = FunctionScope();
  for (const auto& [name, value] : variables.items) scope.names[name.string()] = value;
  return Renderer(scope, now, budget).Render(block_);
}

}  // namespace affine::jinja
