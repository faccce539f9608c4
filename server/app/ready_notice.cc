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

std::string LoadTime(const ReadyNotice::Model& model) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", model.load_seconds);
  return text;
}

std::string Described(const ReadyNotice::Model& model) {
  const ModelInfo& info = model.info;
  std::string type = info.dtype;
  if (info.weights != info.dtype) type += ", weights in " + info.weights;
  return model.name + " (" + info.architecture + ", " + type + ", " + info.device + ")";
}

}  // namespace

std::string ReadyNotice::Address() const {
  std::string name = host;
  if (host.empty() || host == "0.0.0.0") name = "127.0.0.1";
  if (host == "::") name = "::1";
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return "http://" + name + ":" + std::to_string(port);
}

std::string ReadyNotice::Text() const {
  std::string text = "affine_server " + version + " serves ";
  const std::string place = " on " + Address() + ", gRPC and HTTP";
  if (models.size() == 1) {
    text += Described(models[0]) + place + ", loaded in " + LoadTime(models[0]) + "\n";
  } else {
    text += std::to_string(models.size()) + " models" + place + ":\n";
    for (const Model& model : models) {
      text += "  " + Described(model) + ", loaded in " + LoadTime(model) + "\n";
    }
  }
  const nlohmann::ordered_json body = {{"model", models[0].name},
                                       {"prompt", "The capital of France is"},
                                       {"max_tokens", 32},
                                       {"temperature", 0}};
  text += "Try: curl " + Address() + "/v1/completions -H 'Content-Type: application/json' ";
  if (needs_key) text += "-H \"Authorization: Bearer $AFFINE_API_KEY\" ";
  return text + "-d " + ShellQuoted(body.dump()) + "\n";
}

}  // namespace affine
