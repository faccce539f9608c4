#include "server/request/chat_rules.h"

#include <utility>
#include <variant>

#include "server/request/field_checks.h"

namespace affine {
namespace {

Checked CheckMessage(const ChatMessage& message, const std::string& name) {
  const auto refuse = [&name](const char* member, const std::string& why) {
    return BadInput("messages", "`" + name + "." + member + "` " + why);
  };
  if (message.role.empty() || message.role.size() > kMaxRoleBytes) {
    return refuse("role", "has " + std::to_string(message.role.size()) +
                              " bytes; it must have from 1 to " + std::to_string(kMaxRoleBytes));
  }
  if (message.name.size() > kMaxNameBytes) {
    return refuse("name", "has " + std::to_string(message.name.size()) +
                              " bytes; it must have at most " + std::to_string(kMaxNameBytes));
  }
  if (Checked error = CheckUtf8("messages", name + ".role", message.role)) return error;
  if (Checked error = CheckUtf8("messages", name + ".name", message.name)) return error;
  return CheckUtf8("messages", name + ".content", message.content);
}

}  // namespace

std::optional<RequestError> RenderChat(const ChatPrompt& chat, const ChatTemplate* chat_template,
                                       std::string& text) {
  if (chat.messages.empty() || chat.messages.size() > kMaxMessages) {
    return BadInput("messages", "`messages` has " + std::to_string(chat.messages.size()) +
                                    " messages; it must have from 1 to " +
                                    std::to_string(kMaxMessages));
  }
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    const std::string name = "messages[" + std::to_string(i) + "]";
    if (Checked error = CheckMessage(chat.messages[i], name)) return error;
  }
  if (chat.template_kwargs.size() > kMaxTemplateKwargsBytes) {
    return BadInput("chat_template_kwargs",
                    "`chat_template_kwargs` has " + std::to_string(chat.template_kwargs.size()) +
                        " bytes; it must have at most " + std::to_string(kMaxTemplateKwargsBytes));
  }
  if (Checked error =
          CheckUtf8("chat_template_kwargs", "chat_template_kwargs", chat.template_kwargs)) {
    return error;
  }
  if (chat_template == nullptr) {
    return BadInput("messages", "the model has no chat template; send text or token ids");
  }
  auto rendered = chat_template->Render(chat);
  if (auto* refusal = std::get_if<ChatRefusal>(&rendered)) {
    return RequestError{.cause = ErrorCause::kBadInput,
                        .message = std::move(refusal->message),
                        .param = std::move(refusal->param),
                        .log_message = std::move(refusal->log_message)};
  }
  text = std::get<std::string>(std::move(rendered));
  return std::nullopt;
}

}  // namespace affine
