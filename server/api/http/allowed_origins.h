// Which web pages' scripts may call: cross-origin resource sharing, by the Fetch standard.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/http/http_message.h"

namespace affine {

/// Immutable, so thread-safe.
class AllowedOrigins {
 public:
  /// Each "https://host" or "https://host:port", or "*" for all. None: browsers are told nothing,
  /// and so let no other site's page read an answer.
  explicit AllowedOrigins(std::vector<std::string> origins);
  /// What every answer to a request from a page of `origin` carries; empty is not from a page.
  HttpHeaders HeadersFor(std::string_view origin) const;
  /// The answer to a browser that asks before a call, or none if `request` is no such question or
  /// nothing is allowed to any page.
  std::optional<HttpResponse> AnswerPreflight(const HttpRequest& request) const;

 private:
  bool Allows(std::string_view origin) const;

  const std::vector<std::string> origins_;
  const bool all_;
};

}  // namespace affine
