#include "server/api/http/http_session.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "server/api/http/http_head.h"

namespace affine {

namespace net = boost::asio;
namespace http = boost::beast::http;

HttpSession::HttpSession(Socket socket, HttpHandler& handler, const Clock& clock, HttpLimits limits,
                         std::function<void()> on_closed)
    : socket_(std::move(socket)),
      handler_(handler),
      clock_(clock),
      limits_(limits),
      on_closed_(std::move(on_closed)),
      read_timer_(socket_.get_executor()),
      write_timer_(socket_.get_executor()) {}

void HttpSession::Start() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::kClosed) return;
    Error ignored;  // an address without Nagle's option is no reason to refuse the client
    self->socket_.set_option(net::ip::tcp::no_delay(true), ignored);
    self->ReadNext();
  });
}

void HttpSession::StartRefused(int status, std::string message) {
  net::post(socket_.get_executor(), [self = shared_from_this(), status, message] {
    if (self->state_ != State::kClosed) self->RefuseUnread(status, message);
  });
}

void HttpSession::Drain() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    if (self->state_ == State::kIdle && self->in_.size() == 0) self->Close();
  });
}

void HttpSession::Cut() {
  net::post(socket_.get_executor(), [self = shared_from_this()] { self->Close(); });
}

HttpPoster HttpSession::poster() {
  return [executor = socket_.get_executor()](std::function<void()> work) {
    net::post(executor, std::move(work));
  };
}

void HttpSession::ReadNext() {
  if (draining_) return Close();
  state_ = State::kIdle;
  parser_.emplace();
  parser_->header_limit(limits_.header_bytes);
  parser_->body_limit(limits_.body_bytes);
  request_ = HttpRequest{};
  origin_.clear();
  read_expired_ = head_only_ = http10_ = keep_alive_ = false;
  chunked_ = streaming_ = ending_ = false;
  if (in_.size() > 0) return ReadHeader();
  Arm(read_timer_, limits_.idle, &HttpSession::Close);
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](Error error) {
    if (error || self->state_ == State::kClosed) return self->Close();
    self->ReadHeader();
  });
}

void HttpSession::ReadHeader() {
  state_ = State::kReading;
  Arm(read_timer_, limits_.header, &HttpSession::OnReadExpired);
  http::async_read_header(socket_, in_, *parser_, [self = shared_from_this()](Error error, size_t) {
    self->OnHeader(error);
  });
}

void HttpSession::OnHeader(Error error) {
  if (state_ == State::kClosed) return;
  if (error) return OnReadError(error);
  TakeHead();
  const std::string_view encoding = request_.Header("content-encoding");
  if (!request_.Header("transfer-encoding").empty() && !parser_->chunked()) {
    return RefuseUnread(501, "transfer-encoding: only chunked is understood");
  }
  if (!encoding.empty() && !EqualsIgnoringCase(encoding, "identity")) {
    return RefuseUnread(415, "content-encoding: send the body as it is, without encoding");
  }
  if (auto refusal = handler_.Refuse(request_)) {
    refusal->close = refusal->close || !parser_->is_done();
    return Respond(std::move(*refusal));
  }
  const std::string_view expect = request_.Header("expect");
  if (expect.empty() || http10_ || parser_->is_done()) return ReadBody();
  if (!EqualsIgnoringCase(expect, "100-continue")) {
    return RefuseUnread(417, "expect: only 100-continue is understood");
  }
  out_ = "HTTP/1.1 100 Continue\r\n\r\n";
  socket_.async_write_some(net::buffer(out_), [self = shared_from_this()](Error error, size_t n) {
    if (self->state_ == State::kClosed) return;
    // 25 bytes into an empty send buffer go out at once or not at all.
    if (error || n != self->out_.size()) return self->Close();
    self->out_.clear();
    self->ReadBody();
  });
}

void HttpSession::TakeHead() {
  const auto& head = parser_->get();
  request_.method = std::string(head.method_string());
  request_.target = std::string(head.target());
  for (const auto& field : head) {
    request_.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  origin_ = std::string(request_.Header("origin"));
  head_only_ = request_.method == "HEAD";
  http10_ = head.version() < 11;
  keep_alive_ = parser_->keep_alive();
}

void HttpSession::ReadBody() {
  if (parser_->is_done()) return OnBody({});
  Arm(read_timer_, limits_.body, &HttpSession::OnReadExpired);
  http::async_read(socket_, in_, *parser_,
                   [self = shared_from_this()](Error error, size_t) { self->OnBody(error); });
}

void HttpSession::OnBody(Error error) {
  if (state_ == State::kClosed) return;
  if (error) return OnReadError(error);
  read_timer_.cancel();
  request_.body = std::move(parser_->get().body());
  request_.arrival = clock_.Now();
  Dispatch();
}

void HttpSession::OnReadError(Error error) {
  if (read_expired_) return RefuseUnread(408, "the request did not come in time");
  if (error == http::error::body_limit) {
    const std::string announced(parser_->get()[http::field::content_length]);
    return RefuseUnread(
        413,
        "the body" +
            (announced.empty() ? std::string(" is too large") : " has " + announced + " bytes") +
            "; at most " + std::to_string(limits_.body_bytes) + " bytes are taken");
  }
  if (error == http::error::header_limit) {
    return RefuseUnread(431, "the headers are too large; at most " +
                                 std::to_string(limits_.header_bytes) + " bytes are taken");
  }
  const bool malformed = error.category() == http::make_error_code(http::error{}).category() &&
                         error != http::error::end_of_stream &&
                         error != http::error::partial_message;
  if (!malformed) return Close();  // the client has gone
  RefuseUnread(400, "the request is not valid HTTP/1.1: " + error.message());
}

void HttpSession::RefuseUnread(int status, const std::string& message) {
  HttpResponse response = handler_.Malformed(status, message);
  response.close = true;
  Respond(std::move(response));
}

void HttpSession::OnReadExpired() {
  read_expired_ = true;
  Error ignored;  // nothing to cancel is as good
  socket_.cancel(ignored);
}

void HttpSession::Dispatch() {
  state_ = State::kAnswering;
  HttpAnswer answer = handler_.Handle(std::move(request_), *this);
  if (auto* response = std::get_if<HttpResponse>(&answer)) return Respond(std::move(*response));
  work_ = std::move(std::get<std::shared_ptr<HttpWork>>(answer));
  Watch();
}

void HttpSession::Watch() {
  watching_ = true;
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](Error error) { self->OnWatched(error); });
}

void HttpSession::OnWatched(Error error) {
  watching_ = false;
  if (state_ == State::kClosed) return;
  if (state_ == State::kIdle)
    return ReadNext();  // the answer is out: AnswerDone cancelled the wait
  if (error) return Close();
  const size_t room = kReadAhead - in_.size();
  if (room == 0) return;  // the next request can wait in the kernel
  socket_.non_blocking(true, error);
  const size_t bytes =
      error ? 0 : socket_.read_some(in_.prepare(std::min<size_t>(room, 4096)), error);
  in_.commit(bytes);
  if (error && error != net::error::would_block) return Close();
  Watch();
}

void HttpSession::Respond(HttpResponse response) {
  if (state_ == State::kClosed) return;
  state_ = State::kAnswering;
  read_timer_.cancel();
  Head(response, true);
  if (!head_only_) next_ += response.body;
  ending_ = true;
  Flush();
}

void HttpSession::BeginStream(HttpResponse head) {
  if (state_ == State::kClosed) return;
  streaming_ = true;
  chunked_ = !http10_;
  if (!chunked_) head.close = true;  // HTTP/1.0 tells the end of the body by the connection's
  Head(head, false);
  Write(std::move(head.body));
}

void HttpSession::Write(std::string piece) {
  if (state_ == State::kClosed) return;
  if (chunked_) {
    AppendChunk(piece, next_);
  } else {
    next_ += piece;
  }
  Flush();
}

void HttpSession::EndStream() {
  if (state_ == State::kClosed) return;
  if (chunked_) next_ += kLastChunk;
  ending_ = true;
  Flush();
}

void HttpSession::Head(HttpResponse& response, bool sized) {
  for (auto& header : handler_.HeadersFor(origin_)) response.headers.push_back(std::move(header));
  keep_alive_ = keep_alive_ && !response.close && !draining_;
  AppendHead(response, {.keep_alive = keep_alive_, .http10 = http10_, .sized = sized}, next_);
}

void HttpSession::Flush() {
  if (flushing_) return;
  if (out_sent_ == out_.size() || out_.empty()) {
    out_ = std::exchange(next_, {});
    out_sent_ = 0;
  }
  if (out_.empty()) {
    if (ending_) AnswerDone();
    return;
  }
  flushing_ = true;
  Arm(write_timer_, limits_.write_stall, &HttpSession::Close);
  socket_.async_write_some(
      net::buffer(out_.data() + out_sent_, out_.size() - out_sent_),
      [self = shared_from_this()](Error error, size_t bytes) { self->OnFlushed(error, bytes); });
}

void HttpSession::OnFlushed(Error error, size_t bytes) {
  flushing_ = false;
  if (state_ == State::kClosed) return;
  if (error) return Close();
  out_sent_ += bytes;
  if (out_sent_ < out_.size() || !next_.empty()) return Flush();
  write_timer_.cancel();
  if (ending_) return AnswerDone();
  if (auto work = work_) work->OnWritten();
}

void HttpSession::AnswerDone() {
  work_.reset();
  if (!keep_alive_) return Linger();
  if (draining_) return Close();
  state_ = State::kIdle;
  if (!watching_) return ReadNext();
  Error error;
  socket_.cancel(error);  // OnWatched goes on
  if (error) Close();
}

void HttpSession::Linger() {
  if (state_ != State::kLingering) {
    state_ = State::kLingering;
    Error error;
    socket_.shutdown(Socket::shutdown_send, error);
    if (error) return Close();
    // Closing with unread bytes would reset the connection and could take the answer with it.
    Arm(read_timer_, limits_.linger, &HttpSession::Close);
  }
  socket_.async_read_some(net::buffer(scrap_), [self = shared_from_this()](Error error, size_t) {
    if (self->state_ == State::kClosed) return;
    if (error && error != net::error::operation_aborted) return self->Close();
    self->Linger();
  });
}

void HttpSession::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  read_timer_.cancel();
  write_timer_.cancel();
  Error ignored;  // the descriptor is gone whatever close() says
  socket_.close(ignored);
  if (auto work = std::exchange(work_, nullptr)) work->OnDisconnect();
  if (auto on_closed = std::exchange(on_closed_, nullptr)) on_closed();
}

void HttpSession::Arm(net::steady_timer& timer, std::chrono::milliseconds delay,
                      void (HttpSession::*expired)()) {
  timer.expires_after(delay);
  timer.async_wait([self = shared_from_this(), &timer, expired](Error error) {
    // An expiry that was already queued when the timer was armed anew is not this one's.
    if (error || timer.expiry() > std::chrono::steady_clock::now()) return;
    if (self->state_ != State::kClosed) ((*self).*expired)();
  });
}

}  // namespace affine
