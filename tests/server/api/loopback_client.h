// A blocking client on the loopback, for bytes exactly as a test wants them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace affine {

struct ClientResponse {
  int status = 0;                              // 0: the server closed without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

/// Fails the test rather than wait for more than 30 s.
class LoopbackClient {
 public:
  explicit LoopbackClient(int port) : LoopbackClient() { Connect(port); }
  /// Not connected yet, but with its descriptor.
  LoopbackClient() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{30, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;
  ~LoopbackClient() { Close(); }

  void Connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  int descriptor() const { return descriptor_; }
  void Close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  /// True if the kernel took all of it.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void EndSending() { ::shutdown(descriptor_, SHUT_WR); }

  /// Up to and with `mark`; what came before the server's end if it never comes.
  std::string ReadThrough(std::string_view mark) {
    size_t at = std::string::npos;
    while ((at = pending_.find(mark)) == std::string::npos) {
      if (!Receive()) return std::exchange(pending_, {});
    }
    return Cut(at + mark.size());
  }
  std::string ReadBytes(size_t count) {
    while (pending_.size() < count && Receive()) {
    }
    return Cut(std::min(count, pending_.size()));
  }
  std::string ReadToEnd() {
    while (Receive()) {
    }
    return std::exchange(pending_, {});
  }
  /// Status line and headers.
  ClientResponse ReadHead() {
    ClientResponse response;
    const std::string head = ReadThrough("\r\n\r\n");
    if (!head.starts_with("HTTP/1.")) return response;
    response.status = std::atoi(head.c_str() + 9);
    for (size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const size_t end = head.find("\r\n", at);
      const size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      response.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return response;
  }
  ClientResponse ReadResponse() {
    ClientResponse response = ReadHead();
    if (response.headers.contains("content-length")) {
      response.body = ReadBytes(std::stoul(response.headers["content-length"]));
    } else if (response.headers["transfer-encoding"] == "chunked") {
      for (std::string chunk = ReadChunk(); !chunk.empty(); chunk = ReadChunk()) {
        response.body += chunk;
      }
    } else if (response.status >= 200) {
      response.body = ReadToEnd();
    }
    return response;
  }
  /// One chunk's data; empty for the last.
  std::string ReadChunk() {
    const size_t size = std::strtoul(ReadThrough("\r\n").c_str(), nullptr, 16);
    std::string data = ReadBytes(size);
    ReadBytes(2);
    return data;
  }

 private:
  bool Receive() {
    char buffer[65536];
    const ssize_t bytes = ::recv(descriptor_, buffer, sizeof buffer, 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      ADD_FAILURE() << "the server said nothing for 30 s; so far: " << pending_;
    }
    if (bytes <= 0) return false;
    pending_.append(buffer, static_cast<size_t>(bytes));
    return true;
  }
  std::string Cut(size_t count) {
    std::string front = pending_.substr(0, count);
    pending_.erase(0, count);
    return front;
  }

  int descriptor_;
  bool connected_ = false;
  std::string pending_;
};

}  // namespace affine
