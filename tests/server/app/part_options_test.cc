#include "server/app/part_options.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(PartOptionsTest, SeveralModelsDivideTheThreadsEvenlyAndHaveOneAtLeast) {
  EXPECT_EQ(ThreadsOfEach(8, 2, 4), 4);
  EXPECT_EQ(ThreadsOfEach(7, 3, 4), 2);
  EXPECT_EQ(ThreadsOfEach(0, 2, 4), 2);
  EXPECT_EQ(ThreadsOfEach(1, 3, 4), 1);
  EXPECT_EQ(ThreadsOfEach(0, 2, 0), 1);  // the number of cores is not known
}

TEST(PartOptionsTest, OneModelHasAllThreads) {
  EXPECT_EQ(ThreadsOfEach(0, 1, 4), 0);
  EXPECT_EQ(ThreadsOfEach(3, 1, 4), 3);
}

TEST(PartOptionsTest, AModelIsLoadedWithItsShareOfTheCache) {
  Config config;
  config.threads = 4;
  config.dtype = "bfloat16";
  config.weights = "int4";
  const LoadOptions options = MakeLoadOptions(config, {"a", "folder", 0.25}, 2, 1 << 20);
  EXPECT_EQ(options.path, "folder");
  EXPECT_EQ(options.kv_cache_bytes, 1 << 18);
  EXPECT_EQ(options.num_threads, 2);
  EXPECT_EQ(options.dtype, "bfloat16");
  EXPECT_EQ(options.weights, "int4");
}

TEST(PartOptionsTest, TheActionDecidesWhetherALimitEndsRequests) {
  Config config;
  config.stability_limits.entropy = 0.5;
  EXPECT_EQ(MakeEngineOptions(config).stability_limits.entropy, 0.5);
  EXPECT_FALSE(MakeEngineOptions(config).stability_limits.end_requests);
  config.unstable_action = "finish";
  EXPECT_TRUE(MakeEngineOptions(config).stability_limits.end_requests);
}

TEST(PartOptionsTest, TheEngineIsToldHowFarToSpeculate) {
  EXPECT_EQ(MakeEngineOptions({}).drafts.max_tokens, 15);
  Config config;
  config.speculative_tokens = 0;
  config.prompt_lookup_max = 5;
  config.prompt_lookup_min = 4;
  const DraftOptions drafts = MakeEngineOptions(config).drafts;
  EXPECT_EQ(drafts.max_tokens, 0);
  EXPECT_EQ(drafts.longest_match, 5);
  EXPECT_EQ(drafts.shortest_match, 4);
}

TEST(PartOptionsTest, GrammarsAreToldTheirLimits) {
  Config config;
  config.max_grammar_bytes = 17;
  config.max_grammar_compile_ms = 250;
  config.max_queued_grammars = 3;
  config.grammar_cache_mib = 2;
  const GrammarOptions options = MakeGrammarOptions(config);
  EXPECT_EQ(options.limits.max_bytes, 17u);
  EXPECT_EQ(options.max_compile_time, std::chrono::milliseconds(250));
  EXPECT_EQ(options.max_queued, 3u);
  EXPECT_EQ(options.cache_bytes, size_t{2} << 20);
}

TEST(PartOptionsTest, NoTwoEnginesHashAlike) {
  EXPECT_NE(MakeEngineOptions({}).prefix_hash_key.k0, MakeEngineOptions({}).prefix_hash_key.k0);
}

}  // namespace
}  // namespace affine
