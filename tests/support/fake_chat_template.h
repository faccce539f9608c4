// A chat template without a language: "role:content;" for each message.
#pragma once

#include <string>
#include <variant>

#include "model/chat_template.h"

namespace affine {

class FakeChatTemplate final : public ChatTemplate {
 public:
  explicit FakeChatTemplate(std::string problem = "") : problem_(std::move(problem)) {}

  /// A generation prompt is ">"; kwargs are put behind it. The role "nobody" is refused.
  std::variant<std::string, ChatRefusal> Render(const ChatPrompt& prompt) const override {
    if (!problem_.empty()) return ChatRefusal{"messages", problem_, ""};
    std::string text;
    for (const ChatMessage& message : prompt.messages) {
      if (message.role == "nobody") {
        return ChatRefusal{"messages", "no nobody: " + message.content, "no nobody"};
      }
      text += message.role + ":" + message.content + ";";
    }
    if (prompt.add_generation_prompt.value_or(true)) text += ">";
    return text + prompt.template_kwargs;
  }
  const std::string& problem() const override { return problem_; }

 private:
  const std::string problem_;
};

}  // namespace affine
