// A conversation to the text of a prompt.
#pragma once

#include <optional>
#include <string>

#include "model/chat_template.h"
#include "server/request/request_error.h"

namespace affine {

inline constexpr size_t kMaxMessages = 16'384;
inline constexpr size_t kMaxRoleBytes = 64;
inline constexpr size_t kMaxNameBytes = 256;
/// Members of a JSON object that keep their order are found one by one.
inline constexpr size_t kMaxTemplateKwargsBytes = size_t{32} << 10;

/// Checks `chat` and renders it with `chat_template`, which may be null. Errors name the field.
std::optional<RequestError> RenderChat(const ChatPrompt& chat, const ChatTemplate* chat_template,
                                       std::string& text);

}  // namespace affine
