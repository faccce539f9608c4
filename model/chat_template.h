// A conversation to the text that a model was trained to go on from.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace affine {

struct ChatMessage {
  std::string role;
  std::string content;
  std::string name;  // empty: none
};

struct ChatPrompt {
  std::vector<ChatMessage> messages;
  /// Ends in what begins the assistant's answer. Not given: unless `continue_final_message`.
  std::optional<bool> add_generation_prompt;
  /// Ends in the last message's content, for the model to go on with.
  bool continue_final_message = false;
  /// A JSON object whose members the template sees as variables; empty: none.
  std::string template_kwargs;
};

/// Why there is no text.
struct ChatRefusal {
  std::string param;  // the caller's field to correct
  std::string message;
  std::string log_message;  // without what the caller sent; empty: `message`
};

/// Immutable once loaded; safe to call from several threads.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  /// The prompt's text, special tokens included: encode it without adding more. Work and memory are
  /// bounded, whatever the prompt. Strings are valid UTF-8.
  virtual std::variant<std::string, ChatRefusal> Render(const ChatPrompt& prompt) const = 0;
  /// Why Render refuses everything, the remedy included; empty if it doesn't.
  virtual const std::string& problem() const = 0;
};

struct ChatTemplateOptions {
  std::string folder;  // of the checkpoint
  std::string file;    // the template, instead of the checkpoint's; empty: the checkpoint's
  /// What templates may write as today's date.
  std::function<std::time_t()> now = [] { return std::time(nullptr); };
};

/// Reads `file`, or `folder`/chat_template.jinja, or `chat_template` of `folder`/
/// tokenizer_config.json (of several the one named "default"), and the special tokens of that file
/// and of special_tokens_map.json. A checkpoint without a template, or with one that can't be read
/// or is beyond the interpreter, gives an object with a `problem`. With a `file`, throws ModelError
/// instead.
std::unique_ptr<ChatTemplate> LoadChatTemplate(const ChatTemplateOptions& options);

}  // namespace affine
