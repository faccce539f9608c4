#include "server/request/served_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServedModelsTest : public ::testing::Test {
 protected:
  ServedModel Named(const std::string& name) { return {name, &engine_, &tokenizer_, 0}; }
  RequestError ErrorOf(std::string_view name) { return std::get<RequestError>(models_.Find(name)); }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"first", "second"}};
};

TEST_F(ServedModelsTest, TellsWhichOfItsNamesAreLoaded) {
  EXPECT_EQ(models_.names(), (std::vector<std::string>{"first", "second"}));
  models_.Add(Named("second"));
  EXPECT_FALSE(models_.IsLoaded("first"));
  EXPECT_TRUE(models_.IsLoaded("second"));
  EXPECT_FALSE(models_.IsLoaded("other"));
  models_.CloseForDrain();
  EXPECT_TRUE(models_.IsLoaded("second"));
}

TEST_F(ServedModelsTest, AnEmptyNameFindsTheFirst) {
  models_.Add(Named("second"));
  models_.Add(Named("first"));
  EXPECT_EQ(std::get<const ServedModel*>(models_.Find(""))->name, "first");
  EXPECT_EQ(std::get<const ServedModel*>(models_.Find("second"))->name, "second");
}

TEST_F(ServedModelsTest, AnUnknownNameListsTheServedOnes) {
  models_.Add(Named("first"));
  const RequestError error = ErrorOf("third");
  EXPECT_EQ(error.cause, ErrorCause::kUnknownModel);
  EXPECT_EQ(error.param, "model");
  EXPECT_EQ(error.message,
            "the model `third` is not served here; served models: `first`, `second`");
  EXPECT_EQ(error.MessageForLog(),
            "the model that was asked for is not served here; served models: `first`, `second`");
}

TEST_F(ServedModelsTest, AKnownNameThatIsNotThereYetIsUnavailable) {
  models_.Add(Named("first"));
  EXPECT_FALSE(models_.ready());
  EXPECT_EQ(ErrorOf("second").cause, ErrorCause::kUnavailable);
  EXPECT_THAT(ErrorOf("second").message, HasSubstr("still loading"));
  models_.Add(Named("second"));
  EXPECT_TRUE(models_.ready());
}

TEST_F(ServedModelsTest, DrainingAnswersEveryNameWithUnavailable) {
  models_.Add(Named("first"));
  models_.Add(Named("second"));
  models_.CloseForDrain();
  EXPECT_FALSE(models_.ready());
  EXPECT_EQ(ErrorOf("first").cause, ErrorCause::kUnavailable);
  EXPECT_THAT(ErrorOf("first").message, HasSubstr("shutting down"));
  EXPECT_EQ(models_.List().size(), 2u);
}

TEST_F(ServedModelsTest, ListsInTheOrderOfTheNames) {
  models_.Add(Named("second"));
  models_.Add(Named("first"));
  const auto list = models_.List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]->name, "first");
  EXPECT_EQ(list[1]->name, "second");
}

TEST_F(ServedModelsTest, ABrokenNameIsBadInputAndNotRepeated) {
  const RequestError error = ErrorOf("\xff\xfe");
  EXPECT_EQ(error.cause, ErrorCause::kBadInput);
  EXPECT_EQ(error.param, "model");
  EXPECT_THAT(error.message, Not(HasSubstr("\xff")));
}

TEST_F(ServedModelsTest, AVeryLongNameIsCutAtACharacterInTheMessage) {
  std::string name(127, 'a');
  for (int i = 0; i < 1000; ++i) name += "\xc3\xa9";
  const RequestError error = ErrorOf(name);
  EXPECT_THAT(error.message, HasSubstr("aaa...` (2127 bytes)"));
  EXPECT_TRUE(IsValidUtf8(error.message));
}

TEST_F(ServedModelsTest, RefusesToAddWhatIsNotToBeServedOrIsThereAlready) {
  models_.Add(Named("first"));
  EXPECT_THROW(models_.Add(Named("first")), std::invalid_argument);
  EXPECT_THROW(models_.Add(Named("third")), std::invalid_argument);
}

}  // namespace
}  // namespace affine
