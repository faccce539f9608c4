// What a checkpoint folder says about conversations.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/chat_template.h"

namespace affine {

struct TemplateSource {
  std::optional<std::string> text;  // none: the checkpoint has no template
  std::string place;                // where the text stands, for messages
  /// Names such as "bos_token", and their texts.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

/// Throws ModelError, see LoadChatTemplate.
TemplateSource ReadTemplateSource(const ChatTemplateOptions& options);

}  // namespace affine
