#include "server/grammar/form_limits.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "model/utf8.h"

namespace affine {
namespace {

RequestError Bad(const StructuredOutput& form, std::string what) {
  return {ErrorCause::kBadInput, "`" + form.field + "` " + std::move(what), form.field};
}

/// Most brackets that are open at once. What is quoted, or escaped by a backslash, opens none.
int DepthOf(std::string_view text, std::string_view open, std::string_view close,
            std::string_view quotes) {
  int depth = 0, deepest = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (quotes.find(c) != std::string_view::npos) {
      quote = c == '[' ? ']' : c;
    } else if (open.find(c) != std::string_view::npos) {
      deepest = std::max(deepest, ++depth);
    } else if (close.find(c) != std::string_view::npos) {
      --depth;
    }
  }
  return deepest;
}

int DepthOf(const StructuredOutput& form) {
  switch (form.kind) {
    case StructuredOutput::Kind::kJsonSchema:
      return DepthOf(form.text, "{[", "}]", "\"");
    case StructuredOutput::Kind::kRegex:
      return DepthOf(form.text, "(", ")", "[");
    case StructuredOutput::Kind::kGrammar:
      return DepthOf(form.text, "(", ")", "\"[");
    case StructuredOutput::Kind::kChoice:
    case StructuredOutput::Kind::kJsonObject:
      break;
  }
  return 0;
}

std::optional<RequestError> CheckChoices(const StructuredOutput& form, const FormLimits& limits) {
  const size_t count = form.choices.size();
  if (count == 0 || count > limits.max_choices) {
    return Bad(form, "has " + std::to_string(count) + " choices; it must have 1 to " +
                         std::to_string(limits.max_choices));
  }
  for (size_t i = 0; i < count; ++i) {
    if (form.choices[i].empty()) {
      return Bad(form, "has an empty choice at " + std::to_string(i) +
                           "; each must have at least 1 character");
    }
    if (!IsValidUtf8(form.choices[i])) {
      return Bad(form, "is not valid UTF-8 at " + std::to_string(i) + "; it must be text in UTF-8");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RequestError> CheckForm(const StructuredOutput& form, const FormLimits& limits) {
  using Kind = StructuredOutput::Kind;
  if (form.kind == Kind::kJsonObject) return std::nullopt;
  if (form.bytes() > limits.max_bytes) {
    return Bad(form, "has " + std::to_string(form.bytes()) + " bytes; it must have at most " +
                         std::to_string(limits.max_bytes) + " (--max_grammar_bytes)");
  }
  if (form.kind == Kind::kChoice) return CheckChoices(form, limits);
  if (form.text.empty()) return Bad(form, "is empty; it must have at least 1 character");
  if (!IsValidUtf8(form.text)) return Bad(form, "is not valid UTF-8; it must be text in UTF-8");
  if (form.text.find('\0') != std::string::npos) {
    return Bad(form, "has a NUL character; write it as an escape sequence");
  }
  const int depth = DepthOf(form);
  if (depth <= limits.max_depth) return std::nullopt;
  return Bad(form, "is nested " + std::to_string(depth) + " deep; it must be at most " +
                       std::to_string(limits.max_depth));
}

}  // namespace affine
