#include "server/app/flag_table.h"

#include <gtest/gtest.h>

#include <set>

namespace affine {
namespace {

/// What is wrong with `text` as the value of --`name`; empty if nothing is.
std::string Problem(const std::string& name, const std::string& text, Config* config = nullptr) {
  const FlagTable table;
  Config scratch;
  const Flag* flag = table.Find(name);
  if (flag == nullptr) return "no such flag";
  return flag->set(text, config != nullptr ? *config : scratch).value_or("");
}

TEST(FlagTableTest, EveryFlagHasOneNameHelpAndAnEnvironmentName) {
  const FlagTable table;
  std::set<std::string> names;
  for (const Flag& flag : table.flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name << " is there twice";
    EXPECT_EQ(flag.name.find('-'), std::string::npos) << flag.name;
    EXPECT_FALSE(flag.help.empty()) << flag.name;
    EXPECT_FALSE(flag.group.empty()) << flag.name;
    EXPECT_EQ(flag.environment_name().rfind("AFFINE_", 0), 0u);
  }
  EXPECT_EQ(table.Find("max_num_seqs")->environment_name(), "AFFINE_MAX_NUM_SEQS");
}

TEST(FlagTableTest, HasTheFlagsThatThePeersHave) {
  const FlagTable table;
  for (const char* name : {"model",
                           "served_model_name",
                           "host",
                           "port",
                           "device",
                           "dtype",
                           "weights",
                           "max_model_len",
                           "kv_cache_gib",
                           "block_size",
                           "max_num_batched_tokens",
                           "max_num_seqs",
                           "max_num_queued_reqs",
                           "shutdown_timeout",
                           "enable_prefix_caching",
                           "threads",
                           "http_threads",
                           "api_key",
                           "api_key_file",
                           "log_level",
                           "log_format",
                           "max_body_mib"}) {
    EXPECT_NE(table.Find(name), nullptr) << name;
  }
}

TEST(FlagTableTest, EveryDefaultIsAllowedAndShowsAsItIsRead) {
  const FlagTable table;
  for (const Flag& flag : table.flags()) {
    Config config;
    const std::string shown = flag.show(Config{});
    EXPECT_EQ(flag.set(shown, config).value_or(""), "") << flag.name << "=" << shown;
    EXPECT_EQ(flag.show(config), shown) << flag.name;
  }
}

TEST(FlagTableTest, DashesAndUnderscoresAreTheSame) {
  const FlagTable table;
  EXPECT_EQ(table.Find("max-num-seqs"), table.Find("max_num_seqs"));
  EXPECT_EQ(table.Find("max_num-seqs"), table.Find("max_num_seqs"));
  EXPECT_EQ(table.Find("maxnumseqs"), nullptr);
}

struct Range {
  const char* name;
  const char* least;
  const char* most;
  const char* below;
  const char* above;
};

class FlagRangeTest : public testing::TestWithParam<Range> {};

TEST_P(FlagRangeTest, AllowsItsLimitsAndNothingBeyond) {
  const Range& range = GetParam();
  EXPECT_EQ(Problem(range.name, range.least), "");
  EXPECT_EQ(Problem(range.name, range.most), "");
  for (const char* bad : {range.below, range.above, "", "x", "nan", "1e999", "99999999999999999999",
                          "9223372036854775807K", "1 2"}) {
    const std::string problem = Problem(range.name, bad);
    EXPECT_EQ(problem.rfind("must be ", 0), 0u) << range.name << "=" << bad << ": " << problem;
    EXPECT_NE(problem.find("; "), std::string::npos) << "no remedy: " << problem;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryNumber, FlagRangeTest,
    testing::Values(Range{"port", "0", "65535", "-1", "65536"},
                    Range{"http_threads", "1", "256", "0", "257"},
                    Range{"max_body_mib", "1", "1024", "0", "1025"},
                    Range{"max_model_len", "0", "16777216", "-2", "16777217"},
                    Range{"kv_cache_gib", "0", "65536", "-0.1", "65536.1"},
                    Range{"block_size", "16", "256", "8", "272"},
                    Range{"max_num_batched_tokens", "1", "1048576", "0", "1048577"},
                    Range{"max_prefill_tokens_beside_decodes", "0", "1048576", "-1", "1048577"},
                    Range{"max_decode_stall_ms", "0", "3600000", "-1", "3600001"},
                    Range{"max_num_seqs", "1", "4096", "0", "4097"},
                    Range{"max_num_queued_reqs", "1", "1000000", "0", "1000001"},
                    Range{"threads", "0", "1024", "-1", "1025"},
                    Range{"speculative_tokens", "0", "64", "-1", "65"},
                    Range{"prompt_lookup_max", "1", "16", "0", "17"},
                    Range{"prompt_lookup_min", "1", "16", "0", "17"},
                    Range{"max_grammar_bytes", "1", "16777216", "0", "16777217"},
                    Range{"max_grammar_compile_ms", "1", "60000", "0", "60001"},
                    Range{"max_queued_grammars", "1", "4096", "0", "4097"},
                    Range{"grammar_cache_mib", "0", "65536", "-1", "65537"},
                    Range{"stability_sample_every", "0", "1000000", "-1", "1000001"},
                    Range{"shutdown_timeout", "0", "86400", "-1", "86401"}),
    [](const auto& info) { return info.param.name; });

TEST(FlagTableTest, EveryNumberIsTestedForItsRange) {
  const FlagTable table;
  int numbers = 0;
  for (const Flag& flag : table.flags()) {
    const bool number = !flag.boolean() &&
                        flag.show(Config{}).find_first_not_of("0123456789.") == std::string::npos &&
                        !flag.show(Config{}).empty() && flag.name != "host";
    if (number) ++numbers;
  }
  EXPECT_EQ(numbers, 21);
}

TEST(FlagTableTest, ReadsSizesWithLetters) {
  Config config;
  EXPECT_EQ(Problem("max_model_len", "32k", &config), "");
  EXPECT_EQ(config.max_model_len, 32000);
  EXPECT_EQ(Problem("max_model_len", "32K", &config), "");
  EXPECT_EQ(config.max_model_len, 32768);
  EXPECT_EQ(Problem("max_model_len", "1m", &config), "");
  EXPECT_EQ(config.max_model_len, 1000000);
  EXPECT_EQ(Problem("max_model_len", "1M", &config), "");
  EXPECT_EQ(config.max_model_len, 1048576);
  for (const char* word : {"auto", "-1", "0"}) {
    config.max_model_len = 5;
    EXPECT_EQ(Problem("max_model_len", word, &config), "") << word;
    EXPECT_EQ(config.max_model_len, 0) << word;
  }
  EXPECT_NE(Problem("max_num_seqs", "auto"), "");
  EXPECT_NE(Problem("max_model_len", "k"), "");
}

TEST(FlagTableTest, BlockSizeIsAMultipleOf16) {
  EXPECT_EQ(Problem("block_size", "48"), "");
  EXPECT_EQ(Problem("block_size", "20").rfind("must be a multiple of 16 from 16 to 256", 0), 0u);
}

TEST(FlagTableTest, ChoicesNameEachOther) {
  EXPECT_EQ(Problem("dtype", "bfloat16"), "");
  EXPECT_EQ(Problem("dtype", "float64"), "must be one of auto, float32, bfloat16");
  EXPECT_EQ(Problem("weights", "int4"), "");
  EXPECT_EQ(Problem("weights", "int3"), "must be one of auto, int8, int4");
  EXPECT_EQ(Problem("device", "tpu"), "must be one of cpu, cuda");
  EXPECT_EQ(Problem("log_level", "loud"), "must be one of debug, info, warning, error");
  EXPECT_EQ(Problem("log_format", ""), "must be one of auto, json, text");
  EXPECT_EQ(Problem("unstable_action", "abort"), "must be one of log, finish");
}

TEST(FlagTableTest, ABooleanIsTrueOrFalse) {
  Config config;
  EXPECT_EQ(Problem("enable_prefix_caching", "false", &config), "");
  EXPECT_FALSE(config.enable_prefix_caching);
  EXPECT_EQ(Problem("enable_prefix_caching", "1", &config), "");
  EXPECT_TRUE(config.enable_prefix_caching);
  EXPECT_NE(Problem("enable_prefix_caching", "maybe").find("true or false"), std::string::npos);
}

}  // namespace
}  // namespace affine
