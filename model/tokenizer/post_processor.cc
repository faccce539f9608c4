#include "model/tokenizer/post_processor.h"

#include "model/quoted.h"

namespace affine {

PostProcessor::PostProcessor(const ConfigNode& config) {
  if (!config.IsNull()) Read(config);
}

void PostProcessor::Read(const ConfigNode& config) {
  const std::string& type = config.Member("type").String();
  if (type == "ByteLevel") return;
  if (type == "Sequence") {
    for (const ConfigNode& element : config.Member("processors").Elements()) Read(element);
  } else if (type == "TemplateProcessing") {
    if (has_template_) config.Refuse("a second TemplateProcessing is not supported");
    has_template_ = true;
    ReadTemplate(config);
  } else {
    config.Refuse("post-processor " + Quoted(type) +
                  " is not supported; supported are ByteLevel, TemplateProcessing and Sequence");
  }
}

void PostProcessor::ReadTemplate(const ConfigNode& config) {
  const ConfigNode single = config.Member("single");
  for (const ConfigNode& piece : single.Elements()) {
    const ConfigNode sequence = piece.Member("Sequence");
    if (sequence.IsNull()) {
      AddSpecialToken(piece.Member("SpecialToken"), config.Member("special_tokens"));
      continue;
    }
    const ConfigNode id = sequence.Member("id");
    if (id.String() != "A") id.Refuse("must be \"A\", is " + Quoted(id.String()));
    if (seen_text_) single.Refuse("has the text (Sequence A) twice");
    seen_text_ = true;
  }
  if (!seen_text_) single.Refuse("lacks the text (Sequence A)");
}

void PostProcessor::AddSpecialToken(const ConfigNode& piece, const ConfigNode& special_tokens) {
  const ConfigNode token = special_tokens.Member(piece.Member("id").String());
  if (token.IsNull()) token.Refuse("is absent, but the template uses it");
  std::vector<int32_t>& ids = seen_text_ ? suffix_ : prefix_;
  for (const ConfigNode& id : token.Member("ids").Elements()) ids.push_back(id.TokenId());
}

}  // namespace affine
