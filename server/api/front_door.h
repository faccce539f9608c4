// The one TCP port: accepts, finds out which protocol a client speaks, hands its socket on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace affine {

struct FrontDoorOptions {
  std::string host = "127.0.0.1";  // an address or a name; of a name's addresses IPv4 comes first
  int port = 0;                    // 0: any free one
  /// A client that has not shown its protocol by then is closed.
  std::chrono::milliseconds silence{10'000};
  /// Most clients that have not shown theirs; the oldest makes room.
  size_t max_silent = 1024;
  /// Rest after a failed accept (no descriptors left), so that it does not spin.
  std::chrono::milliseconds accept_rest{100};
};

/// Peeks at the first three bytes: `PRI` begins HTTP/2, which is gRPC's; anything else is HTTP/1's.
/// Nothing is consumed. Runs on its own strand of `context`; outlives the context's threads. What
/// stands between socket and protocol, TLS for one, belongs between the peek and the two takers.
class FrontDoor {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  /// Owns the descriptor from then on: connected, non-blocking.
  using TakeGrpc = std::function<void(int descriptor)>;
  /// The socket's executor is a strand of its own.
  using TakeHttp = std::function<void(Socket socket)>;

  /// The takers are called on the door's strand; they must not block.
  FrontDoor(boost::asio::io_context& context, FrontDoorOptions options, TakeGrpc take_grpc,
            TakeHttp take_http);
  /// Binds and listens; clients are accepted once the context runs. Returns why it could not.
  std::optional<std::string> Listen();
  /// The port that it listens on; 0 before Listen.
  int port() const { return port_; }
  /// Thread-safe. Stops listening and closes clients that have not shown their protocol; `done` is
  /// called once that has happened.
  void Close(std::function<void()> done);

 private:
  using Error = boost::system::error_code;
  struct Visitor {
    Socket socket;
    boost::asio::steady_timer timer;
  };
  using Visitors = std::list<std::shared_ptr<Visitor>>;

  std::string WhyNot(const char* step, Error error) const;
  void Accept();
  void OnAccepted(Error error, Socket socket);
  void Peek(Visitors::iterator place);
  void OnReadable(Visitors::iterator place);
  void Forget(Visitors::iterator place);

  boost::asio::io_context& context_;
  const FrontDoorOptions options_;
  const TakeGrpc take_grpc_;
  const TakeHttp take_http_;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer rest_timer_;
  int port_ = 0;
  bool closed_ = false;
  Visitors visitors_;  // silent so far, oldest first
};

}  // namespace affine
