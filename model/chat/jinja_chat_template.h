// A chat template in Jinja.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/chat/template_source.h"
#include "model/chat_template.h"
#include "model/jinja/template.h"

namespace affine {

class JinjaChatTemplate final : public ChatTemplate {
 public:
  JinjaChatTemplate(const TemplateSource& source, std::function<std::time_t()> now);
  /// One that refuses everything.
  explicit JinjaChatTemplate(std::string problem);

  std::variant<std::string, ChatRefusal> Render(const ChatPrompt& prompt) const override;
  const std::string& problem() const override { return problem_; }

 private:
  using Result = std::variant<std::string, ChatRefusal>;
  using Items = std::vector<std::pair<jinja::Value, jinja::Value>>;

  Result RenderWith(const ChatPrompt& prompt, const Items& kwargs, bool generation,
                    jinja::WorkBudget& budget) const;

  const std::vector<std::pair<std::string, std::string>> special_tokens_;
  const std::function<std::time_t()> now_;
  std::optional<jinja::Template> template_;
  std::string problem_;
};

}  // namespace affine
