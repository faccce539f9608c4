#include "model/chat/final_message.h"

#include <algorithm>

#include "model/jinja/unicode_text.h"

namespace affine {
namespace {

// Like text.rfind(needle), in linear time whatever the strings.
size_t FindLast(std::string_view text, std::string_view needle) {
  const std::string back(text.rbegin(), text.rend());
  const std::string wanted(needle.rbegin(), needle.rend());
  const size_t found = jinja::FindText(back, wanted);
  return found == std::string_view::npos ? found : text.size() - found - needle.size();
}

}  // namespace

std::optional<std::string> UpToFinalMessage(std::string_view rendered, std::string_view content) {
  const std::string_view kept_end = jinja::StripLeft(content);
  const std::string_view bare = jinja::StripRight(kept_end);
  const size_t found = FindLast(rendered, bare);
  if (found == std::string_view::npos) return std::nullopt;
  const bool whole = rendered.substr(found, kept_end.size()) == kept_end;
  return std::string(rendered.substr(0, found + (whole ? kept_end : bare).size()));
}

}  // namespace affine
