// What a person reads when the server is up.
#pragma once

#include <string>
#include <vector>

#include "model/model_info.h"

namespace affine {

struct ReadyNotice {
  struct Model {
    std::string name;
    ModelInfo info;
    double load_seconds = 0;
  };

  std::string version;
  std::string host;  // as listened on
  int port = 0;
  bool needs_key = false;
  std::vector<Model> models;  // at least one

  /// "http://host:port" that works from this machine; an address of all interfaces becomes this
  /// machine's own.
  std::string Address() const;
  /// What is served where, with a line for each of several models, and a curl command to try.
  std::string Text() const;
};

}  // namespace affine
