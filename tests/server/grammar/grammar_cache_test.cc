#include "server/grammar/grammar_cache.h"

#include <gtest/gtest.h>

#include "tests/support/fake_grammar.h"

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;

std::shared_ptr<const OutputGrammar> OfBytes(size_t bytes) {
  return std::make_shared<FakeGrammar>(FakeGrammarOptions{.steps = {}, .bytes = bytes});
}

TEST(GrammarCacheTest, FindsWhatWasAdded) {
  GrammarCache cache(1000);
  const auto grammar = OfBytes(10);
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Add("a", grammar);
  EXPECT_EQ(cache.Find("a"), grammar);
  EXPECT_EQ(cache.bytes(), 12u);  // and the key, twice
}

TEST(GrammarCacheTest, DropsWhatWasNotAskedForTheLongest) {
  GrammarCache cache(36);
  for (const char* key : {"a", "b", "c"}) cache.Add(key, OfBytes(10));
  EXPECT_NE(cache.Find("a"), nullptr);
  cache.Add("d", OfBytes(10));
  EXPECT_EQ(cache.Find("b"), nullptr);
  for (const char* key : {"a", "c", "d"}) EXPECT_NE(cache.Find(key), nullptr) << key;
  cache.Add("e", OfBytes(30));
  EXPECT_EQ(cache.bytes(), 32u);
  EXPECT_EQ(cache.Find("d"), nullptr);
}

TEST(GrammarCacheTest, WhatIsLargerThanAllOfItIsNotKept) {
  GrammarCache cache(20);
  cache.Add("a", OfBytes(10));
  cache.Add("b", OfBytes(100));
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("b"), nullptr);
}

TEST(GrammarCacheTest, AGrammarOutlivesItsPlace) {
  GrammarCache cache(20);
  cache.Add("a", OfBytes(10));
  const auto held = cache.Find("a");
  cache.Add("b", OfBytes(10));
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(held->bytes(), 10u);
}

TEST(GrammarCacheTest, KeysTellFormsApart) {
  const auto choice = [](std::vector<std::string> choices) {
    return KeyOf({Kind::kChoice, "", std::move(choices), "f"});
  };
  EXPECT_EQ(KeyOf({Kind::kRegex, "a", {}, "one"}), KeyOf({Kind::kRegex, "a", {}, "other"}));
  EXPECT_NE(KeyOf({Kind::kRegex, "a", {}}), KeyOf({Kind::kGrammar, "a", {}}));
  EXPECT_NE(KeyOf({Kind::kRegex, "a", {}}), KeyOf({Kind::kRegex, "b", {}}));
  EXPECT_NE(choice({"ab", "c"}), choice({"a", "bc"}));
  EXPECT_NE(choice({"a1:b"}), choice({"a", "b"}));
}

}  // namespace
}  // namespace affine
