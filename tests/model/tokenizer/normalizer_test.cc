#include "model/tokenizer/normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "model/tokenizer/code_point.h"
#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;

class NormalizerTest : public testing::Test {
 protected:
  std::string Nfc(std::string_view text) const {
    std::string buffer;
    return std::string(nfc_.Apply(text, &buffer));
  }
  /// The same from utf8proc's own whole-text function.
  static std::string Reference(const std::string& text) {
    utf8proc_uint8_t* composed = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &composed,
                     static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    EXPECT_GE(length, 0);
    const std::string result(reinterpret_cast<char*>(composed), static_cast<size_t>(length));
    std::free(composed);
    return result;
  }

  Config config_{R"({"type": "NFC"})"};
  Normalizer nfc_{config_.node()};
};

TEST_F(NormalizerTest, NullChangesNothing) {
  const Config config("null");
  std::string buffer;
  EXPECT_EQ(Normalizer(config.node()).Apply("e\u0301", &buffer), "e\u0301");
  const Config empty(R"({"type": "Sequence", "normalizers": []})");
  EXPECT_EQ(Normalizer(empty.node()).Apply("e\u0301", &buffer), "e\u0301");
}

TEST_F(NormalizerTest, ComposesWhatUnicodeComposes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"plain", "plain"},
      {"e\u0301", "\u00E9"},
      {"\u00E9", "\u00E9"},
      {"\u212B", "\u00C5"},                    // a singleton
      {"\u2126x", "\u03A9x"},                  //
      {"a\u0302\u0323", "\u1EAD"},             // reordered, then composed
      {"\u00E2\u0323", "\u1EAD"},              //
      {"q\u0307\u0323", "q\u0323\u0307"},      // reordered only
      {"\u1100\u1161\u11A8", "\uAC01"},        // Hangul
      {"\uAC00\u11A8\u11A8", "\uAC01\u11A8"},  //
      {"\u0958", "\u0915\u093C"},              // excluded from composition
      {"\u0344", "\u0308\u0301"},              //
      {"\u0301e", "\u0301e"},                  // a mark without a base
      {"x\u0301e\u0301", "x\u0301\u00E9"},     //
      {"\u09C7\u09BE", "\u09CB"},              // a starter joins a starter
      {"か\u3099は\u309A", "がぱ"},            //
      {"\uF900", "\u8C48"},                    // compatibility ideographs
      {"\U0002F800", "\u4E3D"},                //
      {"\U000110A5\U000110BA", "\U000110AB"},  // outside the basic plane
      {std::string("a\0e\u0301", 5), std::string("a\0\u00E9", 4)},
  };
  for (const auto& [text, composed] : cases) {
    EXPECT_EQ(Nfc(text), composed) << text;
    EXPECT_EQ(Nfc("<" + text + ">"), Nfc("<") + composed + ">") << text;
    EXPECT_EQ(Nfc(composed), composed) << text;
  }
}

TEST_F(NormalizerTest, TextInNormalFormIsNotCopied) {
  const std::string text = "Grüße, Ελλάδα, 世界, Tiếng Việt, 한국어 🌍";
  std::string buffer;
  EXPECT_EQ(nfc_.Apply(text, &buffer).data(), text.data());
}

TEST_F(NormalizerTest, AgreesWithUtf8procOnEveryCodePointBesideEveryKindOfNeighbour) {
  for (uint32_t c = 1; c < 0x30000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    AppendUtf8(c, &text);
    text += "\u0323\u0301\u09BE";
    AppendUtf8(c, &text);
    ASSERT_EQ(Nfc(text), Reference(text)) << std::hex << c;
  }
}

TEST_F(NormalizerTest, AgreesWithUtf8procOnRandomMarks) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "a",      "e",      "\u00E9", "\u1EAD",     "\u0301",     "\u0323", "\u0302", "\u0327",
      "\u0315", "\u0345", "\u1100", "\u1161",     "\u11A8",     "\uAC00", " ",      "\u0F71",
      "\u0F72", "\u0F80", "中",     "\U0001D157", "\U0001D165", "\u093C", "\u0928"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t length = random() % 12; length > 0; --length)
      text += pieces[random() % pieces.size()];
    ASSERT_EQ(Nfc(text), Reference(text)) << text;
  }
}

TEST_F(NormalizerTest, AMegabyteOfDisorderedMarksIsSortedInTime) {
  std::string text = "a";
  for (int i = 0; i < 250000; ++i) text += "\u0301\u0323";
  const std::string composed = Nfc(text);
  EXPECT_EQ(composed.size(), text.size());  // a + U+0323 is U+1EA1, three bytes for one and two
  EXPECT_EQ(composed.substr(0, 5), "\u1EA1\u0323");
  EXPECT_EQ(composed.substr(composed.size() - 4), "\u0301\u0301");
}

TEST_F(NormalizerTest, OthersAreRefusedByName) {
  for (const char* type : {"NFD", "NFKC", "NFKD", "Lowercase", "Strip", "Replace", "Prepend",
                           "BertNormalizer", "ByteLevel", "Precompiled"}) {
    const std::string text = R"({"type": ")" + std::string(type) + R"("})";
    EXPECT_THAT(ErrorOf([&] { Normalizer(Config(text).node()); }),
                HasSubstr("normalizer \"" + std::string(type) + "\" is not supported"));
    const std::string nested =
        R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, )" + text + "]}";
    EXPECT_THAT(ErrorOf([&] { Normalizer(Config(nested).node()); }),
                HasSubstr("normalizers[1]: normalizer \"" + std::string(type)));
  }
}

}  // namespace
}  // namespace affine
