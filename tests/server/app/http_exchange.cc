#include "tests/server/app/http_exchange.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace affine {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

HttpExchange::HttpExchange(int port, const std::string& method, const std::string& target,
                           const std::string& body) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Fail("connect");
  const std::string request = method + " " + target +
                              " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                              "Content-Type: application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
  if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    Fail("send");
  }
  std::string answer;
  char buffer[4096];
  for (ssize_t count; (count = recv(socket, buffer, sizeof buffer, 0)) != 0;) {
    if (count < 0) Fail("recv");
    answer.append(buffer, static_cast<size_t>(count));
  }
  close(socket);
  if (answer.size() > 12) status_ = std::stoi(answer.substr(9, 3));
  const size_t head_end = answer.find("\r\n\r\n");
  if (head_end != std::string::npos) body_ = answer.substr(head_end + 4);
}

}  // namespace affine
