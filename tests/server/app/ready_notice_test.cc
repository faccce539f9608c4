#include "server/app/ready_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

ReadyNotice::Model Model(const std::string& name, double load_seconds) {
  ModelInfo info;
  info.architecture = "LlamaForCausalLM";
  info.dtype = "bfloat16";
  info.weights = "bfloat16";
  info.device = "cpu";
  return {name, info, load_seconds};
}

ReadyNotice Notice() { return {"1.2.3", "127.0.0.1", 8000, false, {Model("smol", 1.26)}}; }

TEST(ReadyNoticeTest, SaysWhatIsServedWhere) {
  EXPECT_THAT(Notice().Text(),
              HasSubstr("affine_server 1.2.3 serves smol (LlamaForCausalLM, bfloat16, cpu) on "
                        "http://127.0.0.1:8000, gRPC and HTTP, loaded in 1.3 s\n"));
}

TEST(ReadyNoticeTest, NamesTheWeightsTypeWhereItIsAnother) {
  ReadyNotice notice = Notice();
  notice.models[0].info.weights = "int4";
  EXPECT_THAT(notice.Text(), HasSubstr("smol (LlamaForCausalLM, bfloat16, weights in int4, cpu)"));
}

TEST(ReadyNoticeTest, ListsSeveralModelsAndTriesTheFirst) {
  ReadyNotice notice = Notice();
  notice.models.push_back(Model("affine", 2));
  const std::string text = notice.Text();
  EXPECT_THAT(text, HasSubstr("affine_server 1.2.3 serves 2 models on http://127.0.0.1:8000, gRPC "
                              "and HTTP:\n"
                              "  smol (LlamaForCausalLM, bfloat16, cpu), loaded in 1.3 s\n"
                              "  affine (LlamaForCausalLM, bfloat16, cpu), loaded in 2.0 s\n"
                              "Try: curl "));
  EXPECT_THAT(text, HasSubstr("{\"model\":\"smol\","));
}

TEST(ReadyNoticeTest, ShowsACommandThatWorksAsItStands) {
  ReadyNotice notice = Notice();
  notice.models[0].name = "it's \"q4\"";
  const std::string text = notice.Text();
  EXPECT_THAT(text, HasSubstr("curl http://127.0.0.1:8000/v1/completions"));
  EXPECT_THAT(text, HasSubstr(R"(-d '{"model":"it'\''s \"q4\"","prompt":)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Authorization")));
  notice.needs_key = true;
  EXPECT_THAT(notice.Text(), HasSubstr("Authorization: Bearer $AFFINE_API_KEY"));
}

TEST(ReadyNoticeTest, AnAddressOfAllInterfacesBecomesOneThatCanBeCalled) {
  ReadyNotice notice = Notice();
  notice.host = "0.0.0.0";
  EXPECT_EQ(notice.Address(), "http://127.0.0.1:8000");
  notice.host = "::";
  EXPECT_EQ(notice.Address(), "http://[::1]:8000");
  notice.host = "localhost";
  EXPECT_EQ(notice.Address(), "http://localhost:8000");
}

}  // namespace
}  // namespace affine
