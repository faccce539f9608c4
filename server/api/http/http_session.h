// One HTTP connection: reads a request, has it answered, and again.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api/http/http_handler.h"
#include "server/api/http/http_limits.h"

namespace affine {

/// Requests are answered one after the other in the order they came (pipelining); while one is
/// being answered at most kReadAhead bytes of the next are taken. Start, Drain and Cut may be
/// called from any thread; everything else runs on the socket's strand.
class HttpSession final : public HttpResponder, public std::enable_shared_from_this<HttpSession> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  static constexpr size_t kReadAhead = 64 << 10;

  /// `socket`'s executor is a strand. `handler` and `clock` outlive the session; `on_closed` is
  /// called once, on the strand.
  HttpSession(Socket socket, HttpHandler& handler, const Clock& clock, HttpLimits limits,
              std::function<void()> on_closed);

  void Start();
  /// Answers with `status` without reading, and closes.
  void StartRefused(int status, std::string message);
  /// The running answer is the last; without one, closes now.
  void Drain();
  /// Closes now.
  void Cut();

  void Respond(HttpResponse response) override;
  void BeginStream(HttpResponse head) override;
  void Write(std::string piece) override;
  void EndStream() override;
  HttpPoster poster() override;

 private:
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class State { kIdle, kReading, kAnswering, kLingering, kClosed };

  void ReadNext();
  void ReadHeader();
  void OnHeader(Error error);
  void TakeHead();
  void ReadBody();
  void OnBody(Error error);
  void OnReadError(Error error);
  void RefuseUnread(int status, const std::string& message);
  void Dispatch();
  void Watch();
  void OnWatched(Error error);
  void Head(HttpResponse& response, bool sized);
  void Flush();
  void OnFlushed(Error error, size_t bytes);
  void AnswerDone();
  void Linger();
  void Close();
  /// Calls `expired` after `delay`, unless armed anew or disarmed before.
  void Arm(boost::asio::steady_timer& timer, std::chrono::milliseconds delay,
           void (HttpSession::*expired)());
  void OnReadExpired();

  Socket socket_;
  HttpHandler& handler_;
  const Clock& clock_;
  const HttpLimits limits_;
  std::function<void()> on_closed_;
  boost::asio::steady_timer read_timer_;
  boost::asio::steady_timer write_timer_;
  State state_ = State::kIdle;

  boost::beast::flat_buffer in_;
  std::optional<Parser> parser_;  // of the request being read
  HttpRequest request_;
  std::string origin_;  // of the page that asks, from its header
  bool read_expired_ = false;

  std::shared_ptr<HttpWork> work_;
  bool watching_ = false;   // a wait for the client's end is pending
  bool head_only_ = false;  // HEAD: headers without a body
  bool http10_ = false;
  bool keep_alive_ = false;  // after the answer in hand
  bool chunked_ = false;
  bool streaming_ = false;
  bool ending_ = false;  // what is in out_ is the answer's last
  bool draining_ = false;
  bool flushing_ = false;  // a write of out_ is in flight
  std::string out_;
  size_t out_sent_ = 0;  // bytes of out_ that the socket has taken
  std::string next_;     // goes out after out_
  std::array<char, 4096> scrap_;
};

}  // namespace affine
