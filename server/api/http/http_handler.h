// What stands between a connection and the routes: answers at once, or work that goes on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/api/http/http_message.h"

namespace affine {

/// Runs a function on a connection's strand. Callable from any thread while the front-end threads'
/// context exists, after the connection's end as well.
using HttpPoster = std::function<void(std::function<void()>)>;

/// The connection's side of an answer that takes time. All methods are called on its strand.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;
  /// The whole answer. Once, and not after BeginStream.
  virtual void Respond(HttpResponse response) = 0;
  /// Headers of an answer of unknown length (`head.body` is its first piece, not empty).
  virtual void BeginStream(HttpResponse head) = 0;
  /// The next piece, not empty. Only once the work was told that the one before is out.
  virtual void Write(std::string piece) = 0;
  /// Ends the stream behind what was written.
  virtual void EndStream() = 0;
  virtual HttpPoster poster() = 0;
};

/// An answer in the making, owned by its connection. All methods are called on its strand.
class HttpWork {
 public:
  virtual ~HttpWork() = default;
  /// The piece before has been taken by the socket: the next may be written.
  virtual void OnWritten() = 0;
  /// The client is gone, or is being cut off: nobody reads the answer any more.
  virtual void OnDisconnect() = 0;
};

using HttpAnswer = std::variant<HttpResponse, std::shared_ptr<HttpWork>>;

/// Thread-safe.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Looks at a request whose body has not come yet; gives it its id. An answer refuses it, and its
  /// body is then not read.
  virtual std::optional<HttpResponse> Refuse(HttpRequest& head) = 0;
  /// Answers, or starts work that answers through `responder`, which outlives the work.
  virtual HttpAnswer Handle(HttpRequest request, HttpResponder& responder) = 0;
  /// The answer to what could not be read as a request: 400, 408, 413, 417, 431, 501, 503.
  virtual HttpResponse Malformed(int status, const std::string& message) = 0;
  /// What every answer carries, whoever made it, to a request of a page of `origin`; empty: of
  /// none.
  virtual HttpHeaders HeadersFor(std::string_view origin) const { return {}; }
};

}  // namespace affine
