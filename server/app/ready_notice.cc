#include "server/app/ready_notice.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace affine {
namespace {

/// `text` as one word of a POSIX shell.
std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string OneDecimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

std::string ReadyNotice::Address() const {
  std::string name = host;
  if (host.empty() || host == "0.0.0.0") name = "127.0.0.1";
  if (host == "::") name = "::1";
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return "http://" + name + ":" + std::to_string(port);
}

std::string ReadyNotice::Text(const ModelInfo& info) const {
  const nlohmann::ordered_json body = {{"model", model_name},
                                       {"prompt", "The capital of France is"},
                                       {"max_tokens", 32},
                                       {"temperature", 0}};
  std::string text = "affine_server " + version + " serves " + model_name + " (" +
                     info.architecture + ", " + info.dtype + ", " + info.device + ") on " +
                     Address() + ", gRPC and HTTP, loaded in " + OneDecimal(load_seconds) + " s\n";
  text += "Try: curl " + Address() + "/v1/completions -H 'Content-Type: application/json' ";
  if (needs_key) text += "-H \"Authorization: Bearer $AFFINE_API_KEY\" ";
  return text + "-d " + ShellQuoted(body.dump()) + "\n";
}

}  // namespace affine
