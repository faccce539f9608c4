#include "server/api/http/http_router.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/quoted.h"
#include "server/api/http/openai_error.h"

namespace affine {

namespace {

bool Matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.size() > pattern.size() && path.starts_with(pattern);
}

}  // namespace

void HttpRouter::Add(HttpRoute route) { routes_.push_back(std::move(route)); }

std::variant<const HttpRoute*, HttpResponse> HttpRouter::Find(const HttpRequest& request) const {
  const std::string_view path = request.Path();
  const std::string_view sent = request.method;
  const std::string_view method = sent == "HEAD" ? std::string_view("GET") : sent;
  std::string allowed;
  for (const HttpRoute& route : routes_) {
    if (!Matches(route.path, path)) continue;
    if (route.method == method) return &route;
    allowed +=
        (allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
  }
  if (allowed.empty()) {
    return OpenAiErrorResponse(
        {ErrorCause::kNotFound, "there is no " + Quoted(path) + "; GET / lists the endpoints", ""});
  }
  HttpResponse response = OpenAiErrorResponse(
      {ErrorCause::kNotFound,
       Quoted(path) + " does not take " + Quoted(request.method) + "; it takes " + allowed, ""},
      405);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      decoded.push_back(static_cast<char>(value));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

std::string QueryParameter(const HttpRequest& request, std::string_view name) {
  std::string_view query = std::string_view(request.target).substr(request.Path().size());
  while (!query.empty()) {
    query.remove_prefix(1);  // "?" or "&"
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(pair.size());
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) continue;
    std::string value(pair.substr(name.size() + 1));
    std::replace(value.begin(), value.end(), '+', ' ');
    return PercentDecoded(value);
  }
  return {};
}

}  // namespace affine
