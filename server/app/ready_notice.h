// What a person reads when the server is up.
#pragma once

#include <string>

#include "model/model_info.h"

namespace affine {

struct ReadyNotice {
  std::string version;
  std::string model_name;
  std::string host;  // as listened on
  int port = 0;
  double load_seconds = 0;
  bool needs_key = false;

  /// "http://host:port" that works from this machine; an address of all interfaces becomes this
  /// machine's own.
  std::string Address() const;
  /// Two lines: what is served where, and a curl command to try.
  std::string Text(const ModelInfo& info) const;
};

}  // namespace affine
