#include "model/chat/jinja_chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/chat/final_message.h"
#include "model/chat/json_value.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

using jinja::Value;
using Items = std::vector<std::pair<Value, Value>>;

constexpr int kMaxKwargsDepth = 64;
/// What the template sees in any case; a caller can't put something else in their place.
constexpr const char* kOwnNames[] = {
    "messages", "add_generation_prompt", "tools", "documents", "bos_token", "eos_token"};

ChatRefusal RefuseKwargs(const std::string& why) {
  return {"chat_template_kwargs", "`chat_template_kwargs` " + why, ""};
}

// The members of `text`, or why it is no object of a template's variables.
std::variant<Items, ChatRefusal> KwargsOf(const std::string& text, jinja::WorkBudget& budget) {
  if (text.empty()) return Items();
  const auto shallow = [](int depth, nlohmann::ordered_json::parse_event_t, const auto&) {
    if (depth > kMaxKwargsDepth) throw jinja::TemplateError("is nested too deep");
    return true;
  };
  nlohmann::ordered_json object;
  try {
    object = nlohmann::ordered_json::parse(text, shallow, false);
  } catch (const jinja::TemplateError&) {
    return RefuseKwargs("is nested deeper than " + std::to_string(kMaxKwargsDepth));
  }
  if (!object.is_object()) return RefuseKwargs("must be a JSON object");
  Items items;
  for (const auto& [key, value] : object.items()) {
    if (std::find(std::begin(kOwnNames), std::end(kOwnNames), key) != std::end(kOwnNames)) {
      return RefuseKwargs("has a member " + Quoted(key) + ", which can't be set there");
    }
    items.emplace_back(Value(key), ValueOf(value, budget));
  }
  return items;
}

Value MessageOf(const ChatMessage& message, jinja::WorkBudget& budget) {
  Items items;
  items.emplace_back("role", message.role);
  items.emplace_back("content", message.content);
  if (!message.name.empty()) items.emplace_back("name", message.name);
  return jinja::MakeDict(std::move(items), budget);
}

jinja::WorkBudget BudgetFor(const ChatPrompt& prompt) {
  size_t bytes = prompt.template_kwargs.size() * 8;  // a value takes more than its JSON
  for (const ChatMessage& message : prompt.messages) {
    bytes += message.role.size() + message.content.size() + message.name.size();
  }
  return {bytes, prompt.messages.size()};
}

std::tm LocalTime(std::time_t time) {
  std::tm parts{};
  localtime_r(&time, &parts);
  return parts;
}

}  // namespace

JinjaChatTemplate::JinjaChatTemplate(const TemplateSource& source, std::function<std::time_t()> now)
    : special_tokens_(source.special_tokens), now_(std::move(now)) {
  if (!source.text) {
    problem_ =
        "the model's folder has no chat template; restart the server with --chat_template=FILE, or "
        "apply a template yourself and send text or token ids to the completions endpoint";
    return;
  }
  try {
    template_.emplace(*source.text);
  } catch (const jinja::TemplateError& error) {
    problem_ = "the chat template in " + Quoted(source.place) + " can't be used: " + error.what() +
               "; restart the server with another one, --chat_template=FILE";
  }
}

JinjaChatTemplate::JinjaChatTemplate(std::string problem) : problem_(std::move(problem)) {}

std::variant<std::string, ChatRefusal> JinjaChatTemplate::Render(const ChatPrompt& prompt) const {
  if (!problem_.empty()) return ChatRefusal{"messages", problem_, ""};
  if (prompt.messages.empty()) {
    return ChatRefusal{"messages", "`messages` is empty; it must have at least one message", ""};
  }
  const bool continues = prompt.continue_final_message;
  const bool generation = prompt.add_generation_prompt.value_or(!continues);
  if (continues && generation) {
    return ChatRefusal{"continue_final_message",
                       "`continue_final_message` and `add_generation_prompt` are both true, but a "
                       "prompt ends in one of the two; leave one out",
                       ""};
  }
  jinja::WorkBudget budget = BudgetFor(prompt);
  try {
    auto kwargs = KwargsOf(prompt.template_kwargs, budget);
    if (auto* refusal = std::get_if<ChatRefusal>(&kwargs)) return std::move(*refusal);
    return RenderWith(prompt, std::get<Items>(kwargs), generation, budget);
  } catch (const jinja::RaisedByTemplate& error) {
    return ChatRefusal{"messages",
                       std::string("the model's chat template refuses `messages`: ") + error.what(),
                       "the model's chat template refuses `messages`"};
  } catch (const jinja::TemplateError& error) {
    return ChatRefusal{
        "messages",
        std::string("the model's chat template can't write `messages`: ") + error.what(),
        "the model's chat template can't write `messages`"};
  }
}

JinjaChatTemplate::Result JinjaChatTemplate::RenderWith(const ChatPrompt& prompt,
                                                        const Items& kwargs, bool generation,
                                                        jinja::WorkBudget& budget) const {
  std::vector<Value> messages;
  for (const ChatMessage& message : prompt.messages) {
    messages.push_back(MessageOf(message, budget));
  }
  Items variables = kwargs;
  for (const auto& [name, text] : special_tokens_) variables.emplace_back(name, text);
  variables.emplace_back("messages", jinja::MakeList(std::move(messages), budget));
  variables.emplace_back("add_generation_prompt", generation);
  // transformers gives these names, as None, when there are none.
  variables.emplace_back("tools", Value());
  variables.emplace_back("documents", Value());
  const Value dict = jinja::MakeDict(std::move(variables), budget);
  std::string text = template_->Render(dict.dict(), LocalTime(now_()), budget);
  if (!prompt.continue_final_message) return text;
  auto cut = UpToFinalMessage(text, prompt.messages.back().content);
  if (cut) return *std::move(cut);
  return ChatRefusal{"continue_final_message",
                     "`continue_final_message` is true, but the model's chat template does not "
                     "write the last message as it is",
                     ""};
}

std::unique_ptr<ChatTemplate> LoadChatTemplate(const ChatTemplateOptions& options) {
  try {
    auto loaded = std::make_unique<JinjaChatTemplate>(ReadTemplateSource(options), options.now);
    if (options.file.empty() || loaded->problem().empty()) return loaded;
    throw ModelError(loaded->problem());
  } catch (const ModelError& error) {
    if (!options.file.empty()) throw;
    return std::make_unique<JinjaChatTemplate>(std::string(error.what()) +
                                               " Or restart the server with --chat_template=FILE.");
  }
}

}  // namespace affine
