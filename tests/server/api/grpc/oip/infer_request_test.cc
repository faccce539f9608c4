#include "server/api/grpc/oip/infer_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace affine {
namespace {

using inference::ModelInferRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelInferRequest::InferInputTensor& AddInput(ModelInferRequest& request, const std::string& name,
                                              const std::string& datatype) {
  auto& input = *request.add_inputs();
  input.set_name(name);
  input.set_datatype(datatype);
  input.add_shape(1);
  return input;
}

ModelInferRequest Asking() {
  ModelInferRequest request;
  AddInput(request, "text_input", "BYTES").mutable_contents()->add_bytes_contents("hi");
  return request;
}

void AddParameters(ModelInferRequest& request, const std::string& json) {
  AddInput(request, "sampling_parameters", "BYTES").mutable_contents()->add_bytes_contents(json);
}

struct Read {
  std::optional<RequestError> error;
  InferForm form;
  CompletionParams params;
};
Read ReadOf(const ModelInferRequest& request) {
  Read read;
  read.error = ReadInferRequest(request, read.form, read.params);
  return read;
}

TEST(InferRequestTest, ParametersTakeEveryFormThatClientsWriteThemIn) {
  ModelInferRequest request = Asking();
  auto& parameters = *request.mutable_parameters();
  parameters["temperature"].set_string_param("0.5");
  parameters["top_k"].set_uint64_param(4);
  parameters["ignore_eos"].set_string_param("True");
  parameters["stop_token_ids"].set_string_param("[1, 2]");
  parameters["stop"].set_string_param("12");  // a text, whatever it looks like
  parameters["seed"].set_int64_param(-1);
  parameters["priority"].set_uint64_param(3);
  parameters["echo"].set_bool_param(false);
  parameters["unknown"].set_string_param("{");
  parameters["nothing"];
  const Read read = ReadOf(request);
  ASSERT_FALSE(read.error) << read.error->message;
  EXPECT_EQ(std::get<std::string>(read.params.prompt), "hi");
  EXPECT_EQ(read.params.temperature, 0.5);
  EXPECT_EQ(read.params.top_k, 4);
  EXPECT_TRUE(read.params.ignore_eos);
  EXPECT_THAT(read.params.stop_token_ids, ElementsAre(1, 2));
  EXPECT_THAT(read.params.stop, ElementsAre("12"));
  EXPECT_EQ(read.params.seed, ~uint64_t{0});
  EXPECT_EQ(read.params.priority, 3);
  EXPECT_EQ(read.form.prepended, "hi");
  EXPECT_FALSE(read.form.stream);
}

TEST(InferRequestTest, FlagsMayBeParametersToo) {
  ModelInferRequest request = Asking();
  AddParameters(request, R"({"stream": true, "return_finish_reason": true})");
  const Read read = ReadOf(request);
  ASSERT_FALSE(read.error);
  EXPECT_TRUE(read.form.stream);
  EXPECT_EQ(read.form.prepended, "");
  EXPECT_THAT(read.form.outputs, ElementsAre(kTextOutput, kFinishReason));
  EXPECT_FALSE(read.params.logprobs);
}

TEST(InferRequestTest, ASumOfLogProbabilitiesAsksForThem) {
  ModelInferRequest request = Asking();
  request.add_outputs()->set_name("cumulative_logprob");
  EXPECT_EQ(ReadOf(request).params.logprobs, 0);
  AddParameters(request, R"({"logprobs": 3})");
  EXPECT_EQ(ReadOf(request).params.logprobs, 3);
}

TEST(InferRequestTest, AnIdThatNoLogLineCanHoldIsTheCallersAlone) {
  ModelInferRequest request = Asking();
  request.set_id("a b");
  EXPECT_EQ(ReadOf(request).params.request_id, "");
  EXPECT_EQ(ReadOf(request).form.id, "a b");
  request.set_id("a-b");
  EXPECT_EQ(ReadOf(request).params.request_id, "a-b");
}

TEST(InferRequestTest, WhatIsWrongIsNamed) {
  using Change = std::function<void(ModelInferRequest&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"`text_input` is missing", [](auto& r) { r.clear_inputs(); }},
      {"`text_input` is given twice", [](auto& r) { *r.add_inputs() = r.inputs(0); }},
      {"`image` is no input", [](auto& r) { AddInput(r, "image", "BYTES"); }},
      {"`INT32`; it must be BYTES", [](auto& r) { r.mutable_inputs(0)->set_datatype("INT32"); }},
      {"has the shape [1, 2]", [](auto& r) { r.mutable_inputs(0)->add_shape(2); }},
      {"has 2 values",
       [](auto& r) { r.mutable_inputs(0)->mutable_contents()->add_bytes_contents("x"); }},
      {"has 0 values", [](auto& r) { AddInput(r, "stream", "BOOL"); }},
      {"shared memory",
       [](auto& r) { (*r.mutable_inputs(0)->mutable_parameters())["shared_memory_region"]; }},
      {"`contents` is given beside", [](auto& r) { r.add_raw_input_contents("x"); }},
      {"`raw_input_contents` has 2 entries and `inputs` has 1",
       [](auto& r) {
         r.add_raw_input_contents("x");
         r.add_raw_input_contents("x");
       }},
      {"4 bytes of length, here 9",
       [](auto& r) {
         r.mutable_inputs(0)->clear_contents();
         r.add_raw_input_contents(std::string("\11\0\0\0hi", 6));
       }},
      {"has 1 raw bytes",
       [](auto& r) {
         r.mutable_inputs(0)->clear_contents();
         r.add_raw_input_contents("x");
       }},
      {"one BOOL has 1",
       [](auto& r) {
         r.mutable_inputs(0)->clear_contents();
         AddInput(r, "stream", "BOOL");
         r.add_raw_input_contents(std::string("\2\0\0\0hi", 6));
         r.add_raw_input_contents("");
       }},
      {"`other` is no output", [](auto& r) { r.add_outputs()->set_name("other"); }},
      {"`sampling_parameters` is not valid JSON", [](auto& r) { AddParameters(r, "{"); }},
      {"`sampling_parameters` is [1]", [](auto& r) { AddParameters(r, "[1]"); }},
      {"`temperature` is \"warm\"", [](auto& r) { AddParameters(r, R"({"temperature":"warm"})"); }},
      {"`n` is 2", [](auto& r) { AddParameters(r, R"({"n": 2})"); }},
      {"`sequence_id` is 7",
       [](auto& r) { (*r.mutable_parameters())["sequence_id"].set_int64_param(7); }},
      {"`timeout` is -1",
       [](auto& r) { (*r.mutable_parameters())["timeout"].set_int64_param(-1); }},
      {"version `3`", [](auto& r) { r.set_model_version("3"); }},
  };
  for (const auto& [named, change] : cases) {
    ModelInferRequest request = Asking();
    change(request);
    const Read read = ReadOf(request);
    ASSERT_TRUE(read.error) << named;
    EXPECT_THAT(read.error->message, HasSubstr(named));
  }
}

}  // namespace
}  // namespace affine
