// Files that were damaged or made to do harm: they load or are refused with a ModelError, and what
// loads encodes.
#include <gtest/gtest.h>

#include <random>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

TinyTokenizer Rich() {
  TinyTokenizer tiny;
  tiny.Merge("a", "b").Merge("Ġ", "ab").Added("<s>", {"special"}).Added("<x>", {"normalized"});
  tiny.Set("/normalizer", {{"type", "NFC"}});
  tiny.Set("/pre_tokenizer", nlohmann::json::parse(R"json({"type": "Sequence", "pretokenizers": [
      {"type": "Digits", "individual_digits": true},
      {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)| ?\\p{L}+|\\s+(?!\\S)|[^\\s\\p{L}]+"},
       "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})json"));
  return tiny;
}

/// True if `text` loads. Anything thrown but a ModelError fails the test.
bool LoadsOrIsRefused(const std::string& text) {
  try {
    const ByteLevelTokenizer tokenizer(ParseTokenizerFile("t.json", text));
    const std::vector<int32_t> ids = tokenizer.Encode(" ab<s>e\u0301 12 <x>\xFF ab", true);
    EXPECT_TRUE(tokenizer.Decode(ids, true).size() < 1000);
    return true;
  } catch (const ModelError& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 1000u);
    return false;
  }
}

/// Paths of all values below `value`.
void ListPointers(const nlohmann::json& value, const nlohmann::json::json_pointer& at,
                  std::vector<nlohmann::json::json_pointer>* all) {
  all->push_back(at);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) ListPointers(member, at / key, all);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) ListPointers(value[i], at / i, all);
  }
}

TEST(HostileFileTest, EveryValueMayBeOfEveryKind) {
  const nlohmann::json whole = Rich().document();
  std::vector<nlohmann::json::json_pointer> pointers;
  nlohmann::json outline = whole;
  outline["model"]["vocab"] = {{"a", 97}};  // one token stands for all
  ListPointers(outline, nlohmann::json::json_pointer(), &pointers);
  size_t loaded = 0;
  for (const auto& pointer : pointers) {
    for (const char* value : {"null", "true", "-1", "1e300", "18446744073709551615", "\"\"",
                              "\"[\"", "[]", "{}", "[[]]", "{\"type\": \"ByteLevel\"}"}) {
      nlohmann::json damaged = whole;
      damaged[pointer] = nlohmann::json::parse(value);
      loaded += LoadsOrIsRefused(damaged.dump());
    }
    if (pointer.empty()) continue;
    nlohmann::json damaged = whole;
    nlohmann::json& parent = damaged[pointer.parent_pointer()];
    if (parent.is_object()) parent.erase(pointer.back());
    loaded += LoadsOrIsRefused(damaged.dump());
  }
  EXPECT_GT(loaded, 20u);                       // some damage is harmless
  EXPECT_LT(loaded, pointers.size() * 12 / 2);  // most is not
}

TEST(HostileFileTest, EveryBeginningOfAFileIsRefused) {
  const std::string text = Rich().text();
  ASSERT_TRUE(LoadsOrIsRefused(text));
  for (size_t length = 0; length < text.size(); length += length < 200 ? 1 : 37) {
    EXPECT_FALSE(LoadsOrIsRefused(text.substr(0, length))) << length;
  }
}

TEST(HostileFileTest, DamagedBytesDoNoHarm) {
  const std::string text = Rich().text();
  const std::string interesting = "\"{}[],:\\0-9eE \n\xFF\x80u";
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = interesting[random() % interesting.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 8);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 16));
      }
    }
    LoadsOrIsRefused(damaged);
  }
}

}  // namespace
}  // namespace affine
