#include "model/tokenizer/added_tokens.h"

#include <algorithm>

#include "model/quoted.h"
#include "model/tokenizer/code_point.h"

namespace affine {
namespace {

// What a word is made of for `single_word`: Alphabetic, marks, decimal digits, connectors, joiners.
constexpr char kWordCharacter[] =
    R"(\A[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9})"
    R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}]\z)";

/// Start of the white space that ends at `end`, not before `from`.
size_t SkipSpaceBackwards(std::string_view text, size_t from, size_t end) {
  while (end > from) {
    const CodePoint c = ReadCodePointBefore(text, end);
    if (!IsWhiteSpace(c.value)) break;
    end -= c.length;
  }
  return end;
}

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint c = ReadCodePoint(text, at);
    if (!IsWhiteSpace(c.value)) break;
    at += c.length;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const ConfigNode& config, const Normalizer& normalizer,
                         const Vocabulary& vocabulary)
    : word_character_(kWordCharacter) {
  std::unordered_map<std::string, int32_t> ids;
  int64_t next_id = static_cast<int64_t>(vocabulary.size());
  const std::vector<ConfigNode> entries =
      config.IsNull() ? std::vector<ConfigNode>() : config.Elements();
  if (entries.size() > kMaxTokens) {
    config.Refuse("has " + std::to_string(entries.size()) + " tokens, allowed are " +
                  std::to_string(kMaxTokens));
  }
  for (const ConfigNode& entry : entries) {
    AddedToken token = Read(entry);
    if (token.content.empty()) continue;  // as Hugging Face does
    const int32_t model_id = vocabulary.Find(token.content);
    const auto known = ids.find(token.content);
    int64_t id = model_id;
    if (known != ids.end()) {
      id = known->second;
    } else if (model_id < 0) {
      id = next_id++;
    }
    if (id != token.id) {
      entry.Member("id").Refuse(
          "token " + Quoted(token.content) + " has id " + std::to_string(token.id) +
          ", but Hugging Face's tokenizers would give it " + std::to_string(id) +
          " (its id in model.vocab, or else the next one after as many tokens as model.vocab has)");
    }
    if (model_id < 0 && vocabulary.HasId(token.id)) {
      entry.Member("id").Refuse("token " + Quoted(token.content) + " has id " +
                                std::to_string(token.id) + ", which model.vocab gives to another");
    }
    ids.emplace(token.content, token.id);
    std::string buffer;
    if (token.normalized) token.content = std::string(normalizer.Apply(token.content, &buffer));
    Keep(std::move(token));
  }
  BuildTries();
}

AddedToken AddedTokens::Read(const ConfigNode& config) {
  AddedToken token{config.Member("id").TokenId(),       config.Member("content").String(),
                   config.Member("single_word").Bool(), config.Member("lstrip").Bool(),
                   config.Member("rstrip").Bool(),      config.Member("normalized").Bool(),
                   config.Member("special").Bool()};
  if (token.content.size() > kMaxTokenBytes) {
    config.Member("content").Refuse("has " + std::to_string(token.content.size()) +
                                    " bytes, allowed are " + std::to_string(kMaxTokenBytes));
  }
  return token;
}

void AddedTokens::Keep(AddedToken token) {
  const auto [entry, added] = index_.emplace(token.id, tokens_.size());
  if (added) {
    tokens_.push_back(std::move(token));
  } else {
    const bool special = tokens_[entry->second].special || token.special;
    tokens_[entry->second] = std::move(token);
    tokens_[entry->second].special = special;  // once special, always special
  }
}

void AddedTokens::BuildTries() {
  std::vector<std::pair<std::string_view, int32_t>> verbatim;
  std::vector<std::pair<std::string_view, int32_t>> normalized;
  for (const AddedToken& token : tokens_) {
    (token.normalized ? normalized : verbatim).emplace_back(token.content, token.id);
  }
  verbatim_ = std::make_unique<TokenTrie>(verbatim);
  normalized_ = std::make_unique<TokenTrie>(normalized);
}

bool AddedTokens::TouchesWord(std::string_view text, const TokenTrie::Match& match,
                              RegexScratch* scratch) const {
  const auto is_word = [&](std::string_view character) {
    Regex::Match found;
    return word_character_.Find(character, 0, scratch, &found);
  };
  if (match.begin > 0) {
    const size_t length = ReadCodePointBefore(text, match.begin).length;
    if (is_word(text.substr(match.begin - length, length))) return true;
  }
  return match.end < text.size() &&
         is_word(text.substr(match.end, ReadCodePoint(text, match.end).length));
}

void AddedTokens::Cut(std::string_view text, bool normalized, RegexScratch* scratch,
                      std::vector<Segment>* segments) const {
  const TokenTrie& trie = normalized ? *normalized_ : *verbatim_;
  size_t done = 0;       // text before this is in segments
  size_t space_end = 0;  // where the last white space that was skipped ends
  TokenTrie::Match match;
  for (size_t from = 0; trie.Find(text, from, &match); from = match.end) {
    const AddedToken& token = tokens_[index_.at(match.id)];
    if (token.single_word && TouchesWord(text, match, scratch)) continue;
    size_t begin = match.begin;
    size_t end = match.end;
    if (token.lstrip)
      begin = std::max(SkipSpaceBackwards(text, std::min(done, begin), begin), done);
    if (token.rstrip) {
      space_end = end < space_end ? space_end : SkipSpace(text, end);
      end = space_end;
    }
    if (done < begin) segments->push_back({text.substr(done, begin - done), -1});
    segments->push_back({text.substr(begin, end < begin ? 0 : end - begin), token.id});
    // A match can lie in white space that the token before it took along: it counts all the same,
    // and the text goes on behind it, as in Hugging Face's tokenizers.
    done = end;
  }
  if (done < text.size()) segments->push_back({text.substr(done), -1});
}

}  // namespace affine
