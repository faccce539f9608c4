#include "server/app/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

class CommandTest : public testing::Test {
 protected:
  std::variant<Command, UsageError> Read(std::vector<std::string> arguments,
                                         const Environment& environment = {}) {
    return CommandReader(table_).Read(arguments, environment);
  }
  Config Good(std::vector<std::string> arguments, const Environment& environment = {}) {
    auto result = Read(std::move(arguments), environment);
    const auto* error = std::get_if<UsageError>(&result);
    EXPECT_EQ(error, nullptr) << error->message;
    return error != nullptr ? Config{} : std::get<Command>(result).config;
  }
  std::string Error(std::vector<std::string> arguments, const Environment& environment = {}) {
    auto result = Read(std::move(arguments), environment);
    const auto* error = std::get_if<UsageError>(&result);
    return error != nullptr ? error->message : "no error";
  }
  std::vector<std::string> Warnings(const Environment& environment) {
    return std::get<Command>(Read({"m"}, environment)).warnings;
  }

  const FlagTable table_;
};

TEST_F(CommandTest, TakesDefaultsWhereNothingIsSaid) {
  const Config config = Good({"model"});
  EXPECT_EQ(config.model, "model");
  EXPECT_EQ(config.host, "127.0.0.1");
  EXPECT_EQ(config.port, 8000);
  EXPECT_EQ(config.max_num_batched_tokens, 2048);
  EXPECT_EQ(config.max_num_seqs, 256);
  EXPECT_EQ(config.max_num_queued_reqs, 1024);
  EXPECT_EQ(config.shutdown_timeout, 30);
  EXPECT_TRUE(config.enable_prefix_caching);
}

TEST_F(CommandTest, AFlagGoesBeforeTheEnvironmentAndThatBeforeTheDefault) {
  const Environment environment = {{"AFFINE_PORT", "9000"}, {"AFFINE_MAX_NUM_SEQS", "7"}};
  EXPECT_EQ(Good({"m"}, environment).port, 9000);
  EXPECT_EQ(Good({"m", "--port=9001"}, environment).port, 9001);
  EXPECT_EQ(Good({"m", "--port=9001"}, environment).max_num_seqs, 7);
  EXPECT_EQ(Good({"m", "--port=1", "--port=2"}).port, 2);
  EXPECT_EQ(Good({}, {{"AFFINE_MODEL", "from-env"}}).model, "from-env");
  EXPECT_EQ(Good({"from-flag"}, {{"AFFINE_MODEL", "from-env"}}).model, "from-flag");
}

TEST_F(CommandTest, EveryFlagCanComeFromTheEnvironment) {
  for (const Flag& flag : table_.flags()) {
    const std::string value = flag.boolean()                          ? "false"
                              : flag.name == "block_size"             ? "32"
                              : flag.name == "max_num_batched_tokens" ? "4096"
                              : flag.name == "stability_limits"       ? "entropy=0.05"
                              : flag.name == "allowed_origins"        ? "https://chat.example"
                              : flag.show(Config{}).empty()           ? "text"
                                                                      : flag.show(Config{});
    EXPECT_EQ(flag.show(Good({"m"}, {{flag.environment_name(), value}})),
              flag.name == "model" ? "m" : value)
        << flag.name;
  }
}

TEST_F(CommandTest, AnEmptyVariableIsUnset) {
  EXPECT_EQ(Good({"m"}, {{"AFFINE_PORT", ""}, {"AFFINE_HOST", ""}}).host, "127.0.0.1");
}

TEST_F(CommandTest, UnderstandsEveryWayToWriteAFlag) {
  EXPECT_EQ(Good({"--max-num-seqs=9", "m"}).max_num_seqs, 9);
  EXPECT_EQ(Good({"--max_num-seqs", "9", "m"}).max_num_seqs, 9);
  EXPECT_EQ(Good({"-port", "9", "m"}).port, 9);
  EXPECT_EQ(Good({"m", "--max_model_len", "-1"}).max_model_len, 0);
  EXPECT_EQ(Good({"--host=a=b", "m"}).host, "a=b");
  EXPECT_EQ(Good({"--", "--odd-folder"}).model, "--odd-folder");
  EXPECT_EQ(Good({"--model", "x"}).model, "x");
}

TEST_F(CommandTest, UnderstandsEveryWayToWriteABoolean) {
  for (const char* no :
       {"--enable_prefix_caching=false", "--noenable_prefix_caching", "--no-enable-prefix-caching",
        "--no_enable_prefix_caching", "--enable-prefix-caching=0"}) {
    EXPECT_FALSE(Good({no, "m"}).enable_prefix_caching) << no;
  }
  const Environment off = {{"AFFINE_ENABLE_PREFIX_CACHING", "false"}};
  EXPECT_FALSE(Good({"m"}, off).enable_prefix_caching);
  EXPECT_TRUE(Good({"--enable-prefix-caching", "m"}, off).enable_prefix_caching);
  EXPECT_EQ(Good({"--enable-prefix-caching", "m"}).model, "m");
}

TEST_F(CommandTest, ABooleanFollowedByAWordSaysHowToWriteIt) {
  EXPECT_THAT(Error({"--enable_prefix_caching", "false", "m"}),
              HasSubstr("write --enable_prefix_caching=false"));
  EXPECT_THAT(Error({"--noenable_prefix_caching=true", "m"}),
              HasSubstr("write --enable_prefix_caching=true"));
}

TEST_F(CommandTest, AnUnknownFlagSuggestsTheNearest) {
  EXPECT_EQ(Error({"--prot=1", "m"}),
            "unknown flag --prot; did you mean --port? (--help lists all flags)");
  EXPECT_THAT(Error({"--max-num-seq=1", "m"}), HasSubstr("did you mean --max_num_seqs?"));
  EXPECT_THAT(Error({"--hepl"}), HasSubstr("did you mean --help?"));
  EXPECT_EQ(Error({"--tensor_parallel_size=2", "m"}),
            "unknown flag --tensor_parallel_size (--help lists all flags)");
  EXPECT_THAT(Error({"--noport", "m"}), HasSubstr("unknown flag --noport"));
}

TEST_F(CommandTest, AnErrorNamesSourceValueLimitAndRemedy) {
  EXPECT_EQ(Error({"--port=70000", "m"}),
            "--port is '70000', but must be a whole number from 0 to 65535; 0 takes any free port");
  EXPECT_THAT(Error({"m"}, {{"AFFINE_PORT", "x"}}), HasSubstr("AFFINE_PORT is 'x', but must be"));
  EXPECT_EQ(Error({"m", "--port"}), "--port needs a value: --port=N");
  EXPECT_EQ(Error({"--host", "--port=1", "m"}), "--host needs a value: --host=ADDRESS");
}

TEST_F(CommandTest, ModelsAreListedInOneOfTwoWays) {
  EXPECT_EQ(Good({"--model=a=x,b=y"}).model, "a=x,b=y");
  EXPECT_EQ(Good({"a=x", "--port=1", "b=y"}).model, "a=x,b=y");
  EXPECT_EQ(Good({"a", "b"}, {{"AFFINE_MODEL", "from-env"}}).model, "a,b");
  EXPECT_THAT(Error({"--model=a", "b"}),
              HasSubstr("--model is 'a', but 'b' was given as a model too; name all models in one "
                        "of the two ways: --model=A,B"));
  EXPECT_THAT(Error({"a", "b", "--model=c"}), HasSubstr("--model is 'c', but 'a,b' was given"));
}

TEST_F(CommandTest, ContradictionsNameBothFlags) {
  EXPECT_THAT(Error({"m", "--max_num_batched_tokens=8", "--max_num_seqs=9"}),
              HasSubstr("at least --max_num_seqs, which is 9"));
  EXPECT_EQ(Good({"m", "--max_num_batched_tokens=9", "--max_num_seqs=9"}).max_num_seqs, 9);
  EXPECT_THAT(Error({"m", "--prompt_lookup_min=4", "--prompt_lookup_max=3"}),
              HasSubstr("at most --prompt_lookup_max, which is 3"));
  EXPECT_EQ(Good({"m", "--prompt_lookup_min=4", "--prompt_lookup_max=4"}).prompt_lookup_min, 4);
  const std::string both = Error({"m", "--api_key=s3cret", "--api_key_file=f"});
  EXPECT_THAT(both, HasSubstr("--api_key and --api_key_file are both set"));
  EXPECT_THAT(both, testing::Not(HasSubstr("s3cret")));
}

TEST_F(CommandTest, HelpAndVersionGoBeforeErrors) {
  const auto action = [this](std::vector<std::string> arguments, const Environment& env = {}) {
    return std::get<Command>(Read(std::move(arguments), env)).action;
  };
  EXPECT_EQ(action({"--help"}), Command::Action::kHelp);
  EXPECT_EQ(action({"-h"}), Command::Action::kHelp);
  EXPECT_EQ(action({"--help=markdown"}), Command::Action::kMarkdownHelp);
  EXPECT_EQ(action({"--version"}, {{"AFFINE_PORT", "bad"}}), Command::Action::kVersion);
  EXPECT_EQ(action({"m"}), Command::Action::kServe);
}

TEST_F(CommandTest, ServiceLinksOfKubernetesDoNoHarm) {
  const Environment links = {{"AFFINE_PORT", "tcp://10.0.0.1:8000"},
                             {"AFFINE_SERVICE_HOST", "10.0.0.1"},
                             {"AFFINE_PORT_8000_TCP", "tcp://10.0.0.1:8000"}};
  EXPECT_EQ(Good({"m"}, links).port, 8000);
  const auto warnings = Warnings(links);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("enableServiceLinks: false"));
}

TEST_F(CommandTest, AMisspeltVariableIsPointedOut) {
  const auto warnings = Warnings({{"AFFINE_PROT", "1"}, {"AFFINE_UNRELATED_THING", "x"}});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("AFFINE_PROT is not known"));
  EXPECT_THAT(warnings[0], HasSubstr("did you mean AFFINE_PORT?"));
}

TEST_F(CommandTest, ReadsTheProcessEnvironment) {
  const char* const entries[] = {"A=1", "B=x=y", "C=", "odd", nullptr};
  EXPECT_EQ(ReadProcessEnvironment(entries), (Environment{{"A", "1"}, {"B", "x=y"}, {"C", ""}}));
}

}  // namespace
}  // namespace affine
