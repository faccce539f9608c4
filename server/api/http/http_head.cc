#include "server/api/http/http_head.h"

#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <ctime>

namespace affine {

namespace {

std::string_view ReasonOf(int status) {
  if (status == 499) return "Client Closed Request";
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {reason.data(), reason.size()};
}

// RFC 9110's IMF-fixdate, for example "Sun, 06 Nov 1994 08:49:37 GMT".
void AppendDate(std::string& out) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text;
  out.append(text.data(),
             std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
}

void AppendHeader(std::string_view name, std::string_view value, std::string& out) {
  out.append(name).append(": ");
  for (const char c : value) {
    if (c != '\r' && c != '\n' && c != '\0') out.push_back(c);
  }
  out.append("\r\n");
}

}  // namespace

void AppendHead(const HttpResponse& response, const HttpFraming& framing, std::string& out) {
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(ReasonOf(response.status)).append("\r\nDate: ");
  AppendDate(out);
  out.append("\r\n");
  if (!response.content_type.empty()) AppendHeader("Content-Type", response.content_type, out);
  for (const auto& [name, value] : response.headers) AppendHeader(name, value, out);
  if (framing.sized) {
    AppendHeader("Content-Length", std::to_string(response.body.size()), out);
  } else if (!framing.http10) {
    out.append("Transfer-Encoding: chunked\r\n");
  }
  if (!framing.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (framing.http10) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

void AppendChunk(std::string_view piece, std::string& out) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), piece.size(), 16).ptr;
  out.append(digits.begin(), end).append("\r\n").append(piece).append("\r\n");
}

}  // namespace affine
