#include "server/api/http/tokenizer_routes.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/api/http/chat_codec.h"
#include "server/api/http/json_fields.h"
#include "server/api/http/json_text.h"
#include "server/api/http/token_label.h"
#include "server/request/chat_rules.h"

namespace affine {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

RouteAnswer Answer(const ordered_json& body) {
  HttpResponse response;
  response.body = JsonText(body);
  return response;
}

RouteAnswer Tokenize(const HttpRequest& request, const ServedModels& models) {
  auto parsed = ParseJsonObject(request.body);
  if (auto* error = std::get_if<RequestError>(&parsed)) return RouteRefusal{std::move(*error)};
  JsonFields fields(std::get<json>(parsed));
  const std::string name = fields.String("model").value_or("");
  const auto prompt = fields.String("prompt");
  const bool is_chat = fields.Find("messages") != nullptr;
  const bool special = fields.Flag("add_special_tokens").value_or(!is_chat);
  const bool strings = fields.Flag("return_token_strs").value_or(false);
  const ChatPrompt chat = is_chat ? ReadChat(fields) : ChatPrompt();
  if (is_chat && prompt) {
    fields.Fail("prompt", "`prompt` and `messages` are both given; leave one out");
  }
  if (!is_chat && !prompt) {
    fields.Fail("prompt",
                "`prompt` is missing; it must be a string, unless `messages` are given instead");
  }
  if (fields.error()) return RouteRefusal{*fields.error()};
  auto found = models.Find(name);
  if (auto* error = std::get_if<RequestError>(&found)) return RouteRefusal{std::move(*error)};
  const ServedModel& model = *std::get<const ServedModel*>(found);
  std::string text = prompt.value_or("");
  if (is_chat) {
    if (auto error = RenderChat(chat, model.chat_template, text)) {
      return RouteRefusal{*std::move(error)};
    }
  }
  const std::vector<int32_t> ids = model.tokenizer->Encode(text, special);
  ordered_json body;
  body["count"] = ids.size();
  body["max_model_len"] = model.engine->info().max_model_len;
  body["tokens"] = ids;
  body["token_strs"] = nullptr;
  if (strings) {
    body["token_strs"] = ordered_json::array();
    for (const int32_t id : ids) body["token_strs"].push_back(TokenLabel(*model.tokenizer, id));
  }
  return Answer(body);
}

RouteAnswer Detokenize(const HttpRequest& request, const ServedModels& models) {
  auto parsed = ParseJsonObject(request.body);
  if (auto* error = std::get_if<RequestError>(&parsed)) return RouteRefusal{std::move(*error)};
  JsonFields fields(std::get<json>(parsed));
  const std::string name = fields.String("model").value_or("");
  const std::vector<int64_t> tokens = fields.Integers("tokens");
  const bool skip_special = fields.Flag("skip_special_tokens").value_or(false);
  if (fields.Find("tokens") == nullptr) {
    fields.Fail("tokens", "`tokens` is missing; it must be an array of token ids");
  }
  if (fields.error()) return RouteRefusal{*fields.error()};
  auto found = models.Find(name);
  if (auto* error = std::get_if<RequestError>(&found)) return RouteRefusal{std::move(*error)};
  const ServedModel& model = *std::get<const ServedModel*>(found);
  const int64_t vocab_size = model.engine->info().vocab_size;
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const int64_t token : tokens) {
    if (token < 0 || token >= vocab_size) {
      fields.Refuse("tokens[" + std::to_string(ids.size()) + "]", token,
                    "a token id in [0, " + std::to_string(vocab_size - 1) + "]");
      return RouteRefusal{*fields.error()};
    }
    ids.push_back(static_cast<int32_t>(token));
  }
  return Answer({{"prompt", model.tokenizer->Decode(ids, skip_special)}});
}

}  // namespace

void AddTokenizerRoutes(HttpRouter& router, const ServedModels& models) {
  router.Add({"POST", "/tokenize", true, [&models](const HttpRequest& request, HttpResponder&) {
                return Tokenize(request, models);
              }});
  router.Add({"POST", "/detokenize", true, [&models](const HttpRequest& request, HttpResponder&) {
                return Detokenize(request, models);
              }});
}

}  // namespace affine
