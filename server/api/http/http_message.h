// A request and its answer as routes see them: no sockets, no parser.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/clock.h"

namespace affine {

/// Names are compared without regard to case.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "GET", as sent
  std::string target;  // as sent: path and query
  HttpHeaders headers = {};
  std::string body = {};
  std::string id = {};    // of the answer's x-request-id
  Clock::Time arrival{};  // when its last byte had come
  /// The first header called `name`, or empty.
  std::string_view Header(std::string_view name) const;
  /// The target without its query.
  std::string_view Path() const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers = {};
  std::string body = {};
  bool close = false;  // the connection ends with this answer
};

/// Compares ASCII letters without regard to case.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace affine
