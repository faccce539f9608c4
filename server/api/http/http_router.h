// Which code answers which method and path.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/api/http/http_handler.h"
#include "server/request/request_error.h"

namespace affine {

/// A refusal by one route.
struct RouteRefusal {
  RequestError error;
  int status = 0;  // 0: the cause's own
};

using RouteAnswer = std::variant<HttpResponse, std::shared_ptr<HttpWork>, RouteRefusal>;

struct HttpRoute {
  std::string method;    // "GET" answers HEAD too
  std::string path;      // "/v1/models", or "/v1/models/*" for one or more further characters
  bool guarded = false;  // asks for the API key, where one is set
  std::function<RouteAnswer(const HttpRequest&, HttpResponder&)> answer;
};

/// Filled before it is used; then thread-safe.
class HttpRouter {
 public:
  void Add(HttpRoute route);
  /// The route, or why there is none: 404, or 405 with the methods that there are.
  std::variant<const HttpRoute*, HttpResponse> Find(const HttpRequest& request) const;
  const std::vector<HttpRoute>& routes() const { return routes_; }

 private:
  std::vector<HttpRoute> routes_;
};

/// "%2F" as "/"; what is not an escape stays as it is.
std::string PercentDecoded(std::string_view text);

/// The value of the first `name` in the target's query, decoded ("+" as a space, as in forms);
/// empty without one.
std::string QueryParameter(const HttpRequest& request, std::string_view name);

}  // namespace affine
