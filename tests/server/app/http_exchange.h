// One HTTP request over a plain socket to a port of this machine.
#pragma once

#include <string>

namespace affine {

class HttpExchange {
 public:
  /// Sends the request and reads the answer to its end. Throws std::system_error.
  HttpExchange(int port, const std::string& method, const std::string& target,
               const std::string& body = "");
  int status() const { return status_; }
  const std::string& body() const { return body_; }

 private:
  int status_ = 0;
  std::string body_;
};

}  // namespace affine
