// An answer's status line, headers and chunk frames as bytes.
#pragma once

#include <string>
#include <string_view>

#include "server/api/http/http_message.h"

namespace affine {

struct HttpFraming {
  bool keep_alive = true;
  bool http10 = false;  // the client speaks HTTP/1.0
  bool sized = true;    // Content-Length; else chunked, or (HTTP/1.0) up to the connection's end
};

/// Status line and headers. Bytes that would end a header early are left out of its value.
void AppendHead(const HttpResponse& response, const HttpFraming& framing, std::string& out);

/// `piece`, not empty, as one chunk of a chunked body.
void AppendChunk(std::string_view piece, std::string& out);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace affine
