#include "server/api/front_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <string_view>
#include <utility>

namespace affine {

namespace net = boost::asio;
using tcp = net::ip::tcp;

namespace {

constexpr std::string_view kHttp2 = "PRI";

// Wakes a reader only once `bytes` are there, or the end of the stream.
bool SetLowWater(int descriptor, int bytes) {
  return ::setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes) == 0;
}

}  // namespace

FrontDoor::FrontDoor(net::io_context& context, FrontDoorOptions options, TakeGrpc take_grpc,
                     TakeHttp take_http)
    : context_(context),
      options_(std::move(options)),
      take_grpc_(std::move(take_grpc)),
      take_http_(std::move(take_http)),
      strand_(net::make_strand(context)),
      acceptor_(strand_),
      rest_timer_(strand_) {}

std::optional<std::string> FrontDoor::Listen() {
  if (options_.port < 0 || options_.port > 65535) {
    return "--port is " + std::to_string(options_.port) +
           "; it must be from 1 to 65535, or 0 for any free one";
  }
  std::string host = options_.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Error error;
  tcp::resolver resolver(context_);
  const auto found =
      resolver.resolve(host, std::to_string(options_.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return "--host: " + options_.host + " is not a known name or address (" + error.message() +
           "); use 127.0.0.1 for this machine alone, 0.0.0.0 or :: for all of its addresses";
  }
  const auto ipv4 = std::find_if(found.begin(), found.end(), [](const auto& one) {
    return one.endpoint().protocol() == tcp::v4();
  });
  const tcp::endpoint endpoint = (ipv4 != found.end() ? ipv4 : found.begin())->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (error) return WhyNot("opening a socket", error);
  acceptor_.set_option(net::socket_base::reuse_address(true), error);
  if (error) return WhyNot("SO_REUSEADDR", error);
  if (endpoint.protocol() == tcp::v6() && endpoint.address().is_unspecified()) {
    acceptor_.set_option(net::ip::v6_only(false), error);
    if (error) return WhyNot("listening on IPv4 beside IPv6", error);
  }
  acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) return WhyNot("binding", error);
  port_ = acceptor_.local_endpoint(error).port();
  if (error) return WhyNot("reading back the port", error);
  net::post(strand_, [this] { Accept(); });
  return std::nullopt;
}

std::string FrontDoor::WhyNot(const char* step, Error error) const {
  const std::string address = options_.host + ":" + std::to_string(options_.port);
  if (error == net::error::address_in_use) {
    return "--port: " + address +
           " is already in use; choose another with --port, 0 takes any free one";
  }
  if (error == net::error::access_denied) {
    return "--port: " + address +
           " needs a privilege that this process lacks; choose a port of 1024 or above";
  }
  if (error == std::errc::address_not_available) {
    return "--host: " + options_.host +
           " is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all of its addresses";
  }
  return "--host, --port: cannot listen on " + address + ": " + step + ": " + error.message();
}

void FrontDoor::Close(std::function<void()> done) {
  net::post(strand_, [this, done = std::move(done)] {
    closed_ = true;
    Error ignored;  // the descriptor is gone whatever close() says
    acceptor_.close(ignored);
    rest_timer_.cancel();
    while (!visitors_.empty()) Forget(visitors_.begin());
    done();
  });
}

void FrontDoor::Accept() {
  if (closed_) return;
  acceptor_.async_accept(net::make_strand(context_), [this](Error error, Socket socket) {
    OnAccepted(error, std::move(socket));
  });
}

void FrontDoor::OnAccepted(Error error, Socket socket) {
  if (closed_) return;
  if (error && error != net::error::connection_aborted) {
    rest_timer_.expires_after(options_.accept_rest);
    return rest_timer_.async_wait([this](Error cancelled) {
      if (!cancelled) Accept();
    });
  }
  if (!error && SetLowWater(socket.native_handle(), kHttp2.size())) {
    if (visitors_.size() >= options_.max_silent) Forget(visitors_.begin());
    Peek(visitors_.insert(visitors_.end(), std::make_shared<Visitor>(Visitor{
                                               std::move(socket), net::steady_timer(strand_)})));
  }
  Accept();
}

void FrontDoor::Peek(Visitors::iterator place) {
  const std::weak_ptr<Visitor> weak = *place;  // expired: forgotten, and `place` with it
  (*place)->timer.expires_after(options_.silence);
  (*place)->timer.async_wait([this, weak, place](Error cancelled) {
    if (!cancelled && !weak.expired()) Forget(place);
  });
  (*place)->socket.async_wait(Socket::wait_read,
                              net::bind_executor(strand_, [this, weak, place](Error error) {
                                if (weak.expired()) return;
                                error ? Forget(place) : OnReadable(place);
                              }));
}

void FrontDoor::OnReadable(Visitors::iterator place) {
  Socket socket = std::move((*place)->socket);
  Forget(place);
  Error error;
  socket.non_blocking(true, error);  // the peek must not wait, whatever the wake-up was for
  if (error || !SetLowWater(socket.native_handle(), 1)) return;
  std::array<char, kHttp2.size()> first{};
  const size_t bytes = socket.receive(net::buffer(first), net::socket_base::message_peek, error);
  // Fewer than three bytes are all that came before the client's end: HTTP's to complain about.
  if (error && error != net::error::eof) return;
  if (std::string_view(first.data(), bytes) != kHttp2) return take_http_(std::move(socket));
  const int descriptor = socket.release(error);
  if (!error) take_grpc_(descriptor);
}

void FrontDoor::Forget(Visitors::iterator place) { visitors_.erase(place); }

}  // namespace affine
