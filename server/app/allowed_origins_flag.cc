#include "server/app/allowed_origins_flag.h"

#include <algorithm>

#include "server/app/comma_list.h"

namespace affine {
namespace {

/// Browsers compare byte by byte with what they send: no path, no slash at the end, lower case.
bool IsOrigin(std::string_view text) {
  if (text == "*") return true;
  const size_t scheme = text.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return false;
  const std::string_view host = text.substr(scheme + 3);
  const auto fits = [](char c) {
    return c > ' ' && c < '\x7f' && c != '/' && c != '?' && c != '#' && c != '@' &&
           !(c >= 'A' && c <= 'Z');
  };
  return !host.empty() && std::ranges::all_of(host, fits) &&
         std::ranges::all_of(text.substr(0, scheme), fits);
}

std::optional<std::string> Set(std::string_view text, Config& config) {
  std::vector<std::string> origins = CommaList(text);
  for (const std::string& origin : origins) {
    if (IsOrigin(origin)) continue;
    return "'" + origin +
           "' in it must be a page's origin as browsers send it, such as https://chat.example or "
           "http://localhost:3000, in lower case and without a path; or * for every page";
  }
  config.allowed_origins = std::move(origins);
  return std::nullopt;
}

std::string Show(const Config& config) {
  std::string text;
  for (const std::string& origin : config.allowed_origins) {
    text.append(text.empty() ? "" : ",").append(origin);
  }
  return text;
}

}  // namespace

Flag AllowedOriginsFlag() {
  Flag flag;
  flag.name = "allowed_origins";
  flag.value_name = "ORIGIN,...";
  flag.set = Set;
  flag.show = Show;
  return flag;
}

}  // namespace affine
