#include "server/grammar/xgrammar/xgrammar_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "model/token_mask.h"
#include "tests/server/request/byte_tokenizer.h"

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;
using std::chrono::milliseconds;
using testing::HasSubstr;

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// `root`, and rules of which r0 is an "a" with up to 400 "x" after it, each in any of 400 places.
std::string OptionalTail(std::string root) {
  for (int i = 0; i < 400; ++i) {
    const std::string next = std::to_string(i + 1);
    root += "r" + std::to_string(i) + " ::= r" + next + " | r" + next + " \"x\"\n";
  }
  return root + "r400 ::= \"a\"\n";
}

class XGrammarCompilerTest : public testing::Test {
 protected:
  XGrammarCompilerTest() {
    info_.vocab_size = tokenizer_.vocab_size() + 5;  // a model may have more than its tokenizer
    info_.eos_token_ids = {tokenizer_.vocab_size() - 1};
    compiler_ = MakeXGrammarCompiler(info_, tokenizer_);
  }
  GrammarResult Compile(const StructuredOutput& form, milliseconds most = milliseconds(20'000)) {
    return compiler_->Compile(form, most);
  }
  static StructuredOutput Of(Kind kind, std::string text) {
    return {kind, std::move(text), {}, "form"};
  }
  std::shared_ptr<const OutputGrammar> Grammar(const StructuredOutput& form) {
    GrammarResult result = Compile(form);
    if (const auto* error = std::get_if<RequestError>(&result)) {
      ADD_FAILURE() << form.text << ": " << error->message;
      return nullptr;
    }
    return std::get<0>(result);
  }
  std::string Refused(const StructuredOutput& form, milliseconds most = milliseconds(20'000)) {
    GrammarResult result = Compile(form, most);
    const auto* error = std::get_if<RequestError>(&result);
    if (error == nullptr) return "";
    EXPECT_EQ(error->cause, ErrorCause::kBadInput);
    EXPECT_EQ(error->param, "form");
    return error->message;
  }
  bool Has(const std::vector<uint32_t>& mask, int32_t id) const {
    return (mask[id / TokenMask::kWordBits] >> id % TokenMask::kWordBits & 1) != 0;
  }
  std::vector<uint32_t> MaskOf(GrammarMatcher& matcher) const {
    std::vector<uint32_t> mask(TokenMask::WordsFor(info_.vocab_size));
    EXPECT_TRUE(matcher.FillMask(mask));
    return mask;
  }
  /// How `text` fares, byte by byte: "no" where the grammar forbids it, "part", or "whole" if the
  /// output may end there.
  std::string Fares(const StructuredOutput& form, const std::string& text) {
    const auto grammar = Grammar(form);
    if (grammar == nullptr) return "no grammar";
    const auto matcher = grammar->NewMatcher();
    for (const char c : text) {
      const auto id = static_cast<uint8_t>(c);
      if (!Has(MaskOf(*matcher), id)) {
        EXPECT_FALSE(matcher->Accept(id));
        return "no";
      }
      EXPECT_TRUE(matcher->Accept(id));
    }
    return Has(MaskOf(*matcher), info_.eos_token_ids[0]) ? "whole" : "part";
  }

  ByteTokenizer tokenizer_{{"ab", "abc", "\"a", "true", "\xe2\x82"}};
  ModelInfo info_;
  std::unique_ptr<GrammarCompiler> compiler_;
};

TEST_F(XGrammarCompilerTest, ARegularExpressionIsTheWholeOutput) {
  const auto form = Of(Kind::kRegex, R"([a-c]{2,3}(-\d+)?)");
  EXPECT_EQ(Fares(form, "ab"), "whole");
  EXPECT_EQ(Fares(form, "abc-"), "part");
  EXPECT_EQ(Fares(form, "abc-17"), "whole");
  EXPECT_EQ(Fares(form, "a-"), "no");
  EXPECT_EQ(Fares(form, "abcd"), "no");
  EXPECT_EQ(Fares(Of(Kind::kRegex, "^ab$"), "ab"), "whole");
}

TEST_F(XGrammarCompilerTest, AChoiceIsOneOfTheTexts) {
  const StructuredOutput form{Kind::kChoice, "", {"ab", "a\"\n\\", "größer €"}, "form"};
  EXPECT_EQ(Fares(form, "a"), "part");
  for (const std::string& choice : form.choices) EXPECT_EQ(Fares(form, choice), "whole");
  EXPECT_EQ(Fares(form, "größer $"), "no");
  EXPECT_EQ(Fares(form, "aba"), "no");
}

TEST_F(XGrammarCompilerTest, AGrammarIsReadFromItsRoot) {
  const auto form = Of(Kind::kGrammar, "root ::= \"(\" root \")\" | \"x\"\n");
  EXPECT_EQ(Fares(form, "((x))"), "whole");
  EXPECT_EQ(Fares(form, "((x)"), "part");
  EXPECT_EQ(Fares(form, "(x))"), "no");
}

TEST_F(XGrammarCompilerTest, ASchemaIsKeptToWithItsPropertiesInOrder) {
  const auto form = Of(Kind::kJsonSchema, R"({"type": "object", "properties": {
      "name": {"type": "string", "maxLength": 3}, "age": {"type": "integer", "minimum": 7}},
      "required": ["name"]})");
  EXPECT_EQ(Fares(form, R"({"name": "abc", "age": 12})"), "whole");
  EXPECT_EQ(Fares(form, R"({"name": "abc"})"), "whole");
  EXPECT_EQ(Fares(form, "{ "), "no");
  EXPECT_EQ(Fares(form, "{\n"), "no");
  EXPECT_EQ(Fares(form, R"({"name": "abcd"})"), "no");
  EXPECT_EQ(Fares(form, R"({"age")"), "no");
  EXPECT_EQ(Fares(form, R"({"name": "a", "age": 6})"), "no");
  EXPECT_EQ(Fares(form, R"({"name": "a", "other": 6})"), "no");
}

TEST_F(XGrammarCompilerTest, AJsonObjectIsAnyOne) {
  const auto form = Of(Kind::kJsonObject, "");
  EXPECT_EQ(Fares(form, R"({"a": [1, null, {"b": "c"}], "d": -1.5e3})"), "whole");
  EXPECT_EQ(Fares(form, "{}"), "whole");
  EXPECT_EQ(Fares(form, "["), "no");
  EXPECT_EQ(Fares(form, R"({"a")"), "part");
}

TEST_F(XGrammarCompilerTest, LongTokensAndPartsOfCharactersAreTokensAsAny) {
  const auto grammar = Grammar(Of(Kind::kRegex, "(abc|€)+"));
  const auto matcher = grammar->NewMatcher();
  const int32_t ab = 256, abc = 257, euro_begin = 260;
  auto mask = MaskOf(*matcher);
  for (const int32_t id : {int32_t{'a'}, ab, abc, euro_begin, 0xe2}) EXPECT_TRUE(Has(mask, id));
  for (const int32_t id : {int32_t{'b'}, 258, 259, 0x82}) EXPECT_FALSE(Has(mask, id));
  ASSERT_TRUE(matcher->Accept(euro_begin));
  mask = MaskOf(*matcher);
  EXPECT_TRUE(Has(mask, 0xac));
  EXPECT_FALSE(Has(mask, 'a'));
  ASSERT_TRUE(matcher->Accept(0xac));
  ASSERT_TRUE(matcher->Accept(ab));
  EXPECT_TRUE(Has(MaskOf(*matcher), 'c'));
}

TEST_F(XGrammarCompilerTest, SpecialTokensAndIdsWithoutATokenAreNeverText) {
  const auto matcher = Grammar(Of(Kind::kRegex, "(.|\n)*"))->NewMatcher();
  const auto mask = MaskOf(*matcher);
  EXPECT_TRUE(Has(mask, 'a'));
  EXPECT_TRUE(Has(mask, info_.eos_token_ids[0]));
  EXPECT_FALSE(Has(mask, tokenizer_.first_special()));
  for (int32_t id = tokenizer_.vocab_size(); id < info_.vocab_size; ++id) {
    EXPECT_FALSE(Has(mask, id));
  }
}

TEST_F(XGrammarCompilerTest, MatchersOfOneGrammarKnowNothingOfEachOther) {
  const auto grammar = Grammar(Of(Kind::kRegex, "ab"));
  const auto one = grammar->NewMatcher(), other = grammar->NewMatcher();
  ASSERT_TRUE(one->Accept('a'));
  EXPECT_TRUE(Has(MaskOf(*one), 'b'));
  EXPECT_TRUE(Has(MaskOf(*other), 'a'));
}

TEST_F(XGrammarCompilerTest, WhatIsNoFormIsRefused) {
  EXPECT_THAT(Refused(Of(Kind::kRegex, "(a")), HasSubstr("is not a regular expression"));
  EXPECT_THAT(Refused(Of(Kind::kGrammar, "root := a")), HasSubstr("is not an EBNF grammar"));
  EXPECT_THAT(Refused(Of(Kind::kGrammar, "start ::= \"a\"")), HasSubstr("root"));
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, "{")), HasSubstr("not valid JSON"));
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, R"({"type": "text"})")), HasSubstr("text"));
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, R"({"$ref": "#/$defs/a"})")), HasSubstr("form"));
}

TEST_F(XGrammarCompilerTest, WhatWouldNotBeKeptToInFullIsRefused) {
  EXPECT_THAT(Refused(Of(Kind::kRegex, "a(?=b)b")), HasSubstr("Lookahead"));
  EXPECT_THAT(Refused(Of(Kind::kRegex, "a^b")), HasSubstr("kept to"));
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, R"({"type": "number", "multipleOf": 0.5})")),
              HasSubstr("multipleOf"));
  EXPECT_THAT(
      Refused(Of(Kind::kJsonSchema, R"({"type": "string", "pattern": "a+", "minLength": 3})")),
      HasSubstr("minLength"));
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, R"({"allOf": [{"type": "string"}, {"enum": ["a"]}]})")),
              HasSubstr("allOf"));
}

TEST_F(XGrammarCompilerTest, CompilingEndsWhenItsTimeIsUp) {
  std::string properties, schema;
  for (int i = 0; i < 2000; ++i) {
    properties += (i > 0 ? ", \"p" : "\"p") + std::to_string(i) + R"(": {"type": "string"})";
  }
  schema = R"({"type": "object", "minProperties": 1000, "properties": {)" + properties + "}}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Refused(Of(Kind::kJsonSchema, schema), milliseconds(100)), HasSubstr("100 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5'000));
  EXPECT_EQ(Fares(Of(Kind::kRegex, "ab"), "ab"), "whole") << "the compiler is of use afterwards";
}

TEST_F(XGrammarCompilerTest, WhatIsTooAmbiguousToFollowIsRefused) {
  EXPECT_THAT(Refused(Of(Kind::kGrammar, OptionalTail("root ::= r0\n"))),
              HasSubstr("too ambiguous"));
  EXPECT_THAT(Refused(Of(Kind::kRegex, "((a{1,100}){1,100}){1,100}")), HasSubstr("too ambiguous"));
}

TEST_F(XGrammarCompilerTest, RepetitionIsQuickToFollowHoweverItIsWritten) {
  for (const char* regex : {"[a-z]{1,1000}", "([a-z]+ ){1,20}[a-z]+x", "(ab?){2,30}"}) {
    EXPECT_EQ(Refused(Of(Kind::kRegex, regex)), "") << regex;
  }
}

TEST_F(XGrammarCompilerTest, AmbiguityThatComesLateEndsTheMatcher) {
  const auto grammar = Grammar(Of(Kind::kGrammar, OptionalTail("root ::= \"b\"{40} r0\n")));
  ASSERT_NE(grammar, nullptr);
  const auto matcher = grammar->NewMatcher();
  std::vector<uint32_t> mask(TokenMask::WordsFor(info_.vocab_size));
  const std::string text = Times(40, "b") + "a" + Times(400, "x");
  size_t taken = 0;
  while (taken < text.size() && matcher->FillMask(mask) && matcher->Accept(text[taken])) ++taken;
  EXPECT_GE(taken, 40u);
  EXPECT_LT(taken, text.size());
  EXPECT_FALSE(matcher->FillMask(mask));
}

TEST_F(XGrammarCompilerTest, OneThatAllowsNoTextIsRefused) {
  EXPECT_THAT(Refused(Of(Kind::kGrammar, "root ::= root")), HasSubstr("no text"));
  EXPECT_THAT(Refused(Of(Kind::kGrammar, "root ::= \"\"")), HasSubstr("no text"));
}

TEST_F(XGrammarCompilerTest, WhatIsHostileIsRefusedOrCompiledSoon) {
  std::string chain = R"({"$ref": "#/$defs/d0", "$defs": {)", doubling = chain;
  for (int i = 0; i < 1500; ++i) {
    const std::string next = "{\"$ref\": \"#/$defs/d" + std::to_string(i + 1) + "\"}";
    chain += "\"d" + std::to_string(i) + R"(": {"type": "array", "items": )" + next + "}, ";
    doubling += "\"d" + std::to_string(i) + R"(": {"anyOf": [)" + next + ", " + next + "]}, ";
  }
  for (std::string* schema : {&chain, &doubling}) *schema += R"("d1500": {"type": "string"}}})";
  std::string rules = "root ::= r0\n", many;
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    rules += "r" + n + " ::= r" + next + " r" + next + "\n";
    many += (i > 0 ? ", " : "") + n;
  }
  rules += "r2000 ::= \"a\"\n";
  const std::vector<StructuredOutput> forms = {
      Of(Kind::kRegex, "(a{1,1000}){1,1000}"),
      Of(Kind::kRegex, "((a{1,100}){1,100}){1,100}"),
      Of(Kind::kRegex, "[\\u0000-\\U0010ffff]{1,300}"),
      Of(Kind::kRegex, "(.*a){20}" + Times(60, "(") + "b" + Times(60, ")*")),
      Of(Kind::kRegex, Times(5000, "a?") + Times(5000, "a")),
      Of(Kind::kJsonSchema, "{\"enum\": [" + many + "]}"),
      Of(Kind::kJsonSchema, chain),
      Of(Kind::kJsonSchema, doubling),
      Of(Kind::kJsonSchema, R"({"type": "string", "pattern": "^(a{1,1000}){1,1000}$"})"),
      Of(Kind::kGrammar, rules),
      Of(Kind::kGrammar, "root ::= root root | \"\""),
      Of(Kind::kGrammar, "root ::= root"),
      Of(Kind::kGrammar, "root ::= (\"a\"{1,100000}){1,100000}"),
  };
  for (const StructuredOutput& form : forms) {
    const auto begin = std::chrono::steady_clock::now();
    Compile(form, milliseconds(500));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5'000))
        << form.text.substr(0, 60);
  }
}

}  // namespace
}  // namespace affine
