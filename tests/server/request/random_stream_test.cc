#include <gtest/gtest.h>

#include <random>

#include "model/utf8.h"
#include "server/request/completion_call.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/call_answer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

/// Runs random tokens through a call in random pieces and holds the pieces against the answer that
/// Decode and a plain search give.
class RandomStreamTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  int Below(int n) { return static_cast<int>(random_() % n); }
  template <typename T>
  const T& Any(const std::vector<T>& from) {
    return from[Below(static_cast<int>(from.size()))];
  }

  /// The number of tokens up to the one that completes a stop string, and the text before it.
  std::pair<size_t, std::string> Expected(const std::vector<int32_t>& tokens,
                                          const std::vector<std::string>& stops, bool& stopped) {
    const auto cut = [&](const std::string& text) -> std::optional<std::string> {
      for (size_t end = 1; end <= text.size(); ++end) {
        size_t longest = 0;
        for (const std::string& stop : stops) {
          if (std::string_view(text).substr(0, end).ends_with(stop)) {
            longest = std::max(longest, stop.size());
          }
        }
        if (longest > 0) return text.substr(0, end - longest);
      }
      return std::nullopt;
    };
    const auto bytes_of = [&](size_t count) {
      std::string bytes;
      for (size_t i = 0; i < count; ++i) {
        if (!tokenizer_.IsSpecial(tokens[i])) bytes += tokenizer_.TokenBytes(tokens[i]);
      }
      return bytes;
    };
    stopped = true;
    for (size_t count = 1; count <= tokens.size(); ++count) {
      std::string bytes = bytes_of(count);
      bytes.resize(bytes.size() - IncompleteUtf8Suffix(bytes));
      if (auto text = cut(ReplaceInvalidUtf8(bytes))) return {count, *text};
    }
    const std::string whole = tokenizer_.Decode(tokens, true);
    if (auto text = cut(whole)) return {tokens.size(), *text};
    stopped = false;
    return {tokens.size(), whole};
  }

  const std::vector<std::string> pieces_ = {"ab",
                                            "ba",
                                            "aab",
                                            "\xe2\x82",
                                            "\xac",
                                            "\xac\xe2",
                                            "\xf0\x9f\x98",
                                            "\xc3\xa9"
                                            "a",
                                            "\x80",
                                            "\xa9",
                                            "b\xc3",
                                            "\xef\xbf\xbd"};
  ByteTokenizer tokenizer_{pieces_};
  std::mt19937 random_{GetParam()};
};

TEST_P(RandomStreamTest, PiecesEqualTheUnaryAnswerAndStopStringsNeverLeak) {
  ScriptedEngine engine(SmallModelInfo(tokenizer_));
  engine.HoldCancels();
  ServedModels models({"tiny"});
  models.Add({"tiny", &engine, &tokenizer_, 0});
  const std::vector<std::string> parts = {
      "a", "b", "ab", "\xe2\x82\xac", "\xc3\xa9", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
  int stops_seen = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> tokens;
    for (int i = Below(40); i > 0; --i) {
      tokens.push_back(Below(4) == 0 ? 'a' + Below(2) : 256 + Below(tokenizer_.vocab_size() - 257));
    }
    CompletionParams params;
    params.prompt = "p";
    for (int i = Below(4); i > 0; --i) {
      std::string stop;
      for (int j = 1 + Below(3); j > 0; --j) stop += Any(parts);
      params.stop.push_back(stop);
    }
    bool stopped = false;
    const auto [count, text] = Expected(tokens, params.stop, stopped);
    const auto call =
        std::get<std::shared_ptr<CompletionCall>>(StartCompletion(params, models, [] {}));
    const RequestHandle handle = engine.submitted();
    Answer answer;
    for (size_t at = 0; at < tokens.size();) {
      const size_t end = std::min(tokens.size(), at + 1 + Below(4));
      engine.Emit(handle, {tokens.begin() + at, tokens.begin() + end});
      at = end;
      if (Below(2) == 0) Read(*call, answer);
      ASSERT_TRUE(text.starts_with(answer.text)) << "leaked: " << answer.text;
      ASSERT_TRUE(IsValidUtf8(answer.text));
    }
    engine.Finish(handle, FinishReason::kLength);
    Read(*call, answer);
    ASSERT_EQ(answer.text, text);
    ASSERT_EQ(answer.token_ids, std::vector<int32_t>(tokens.begin(), tokens.begin() + count));
    ASSERT_TRUE(answer.end);
    ASSERT_EQ(answer.end->usage.output_tokens, static_cast<int32_t>(count));
    ASSERT_EQ(answer.end->reason, stopped ? FinishReason::kStop : FinishReason::kLength);
    stops_seen += stopped;
  }
  EXPECT_GT(stops_seen, 20);
  EXPECT_LT(stops_seen, 180);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStreamTest, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace affine
