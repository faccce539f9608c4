#include "server/api/errors/error_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace affine {
namespace {

constexpr ErrorCause kAllCauses[] = {
    ErrorCause::kBadInput,    ErrorCause::kUnknownModel, ErrorCause::kNotFound,
    ErrorCause::kTooLarge,    ErrorCause::kFull,         ErrorCause::kGoal,
    ErrorCause::kUnavailable, ErrorCause::kDeadline,     ErrorCause::kCancelled,
    ErrorCause::kNonFinite,   ErrorCause::kInternal,     ErrorCause::kUnauthenticated,
};

TEST(ErrorTableTest, MapsTheCausesThatCallersMeet) {
  const auto expect = [](ErrorCause cause, int grpc, int http, std::string_view name) {
    const ErrorCodes codes = CodesOf(cause);
    EXPECT_EQ(codes.grpc_status, grpc) << name;
    EXPECT_EQ(codes.http_status, http) << name;
    EXPECT_EQ(codes.grpc_name, name);
  };
  expect(ErrorCause::kBadInput, 3, 400, "INVALID_ARGUMENT");
  expect(ErrorCause::kUnknownModel, 5, 404, "NOT_FOUND");
  expect(ErrorCause::kNotFound, 12, 404, "UNIMPLEMENTED");
  expect(ErrorCause::kTooLarge, 8, 413, "RESOURCE_EXHAUSTED");
  expect(ErrorCause::kFull, 8, 429, "RESOURCE_EXHAUSTED");
  expect(ErrorCause::kGoal, 8, 429, "RESOURCE_EXHAUSTED");
  expect(ErrorCause::kUnavailable, 14, 503, "UNAVAILABLE");
  expect(ErrorCause::kDeadline, 4, 504, "DEADLINE_EXCEEDED");
  expect(ErrorCause::kCancelled, 1, 499, "CANCELLED");
  expect(ErrorCause::kNonFinite, 13, 500, "INTERNAL");
  expect(ErrorCause::kInternal, 13, 500, "INTERNAL");
  expect(ErrorCause::kUnauthenticated, 16, 401, "UNAUTHENTICATED");
}

TEST(ErrorTableTest, EveryCauseHasACodeOfItsOwnAndATypeThatTellsWhoseFaultItIs) {
  std::set<std::string_view> codes;
  for (const ErrorCause cause : kAllCauses) {
    const ErrorCodes row = CodesOf(cause);
    codes.insert(row.code);
    EXPECT_EQ(row.type == "server_error", row.http_status >= 500 && row.http_status != 504);
    EXPECT_NE(row.grpc_status, 0);
  }
  EXPECT_EQ(codes.size(), std::size(kAllCauses));
}

TEST(ErrorTableTest, CallersMistakesAreNeverServerErrors) {
  for (const ErrorCause cause : {ErrorCause::kBadInput, ErrorCause::kUnknownModel,
                                 ErrorCause::kTooLarge, ErrorCause::kUnauthenticated}) {
    EXPECT_LT(CodesOf(cause).http_status, 500);
  }
}

TEST(ErrorTableTest, WhatMayPassHasAHintOfAtLeastASecondAndNothingElseHasOne) {
  for (const ErrorCause cause : kAllCauses) {
    const bool passes = cause == ErrorCause::kFull || cause == ErrorCause::kGoal ||
                        cause == ErrorCause::kUnavailable;
    EXPECT_EQ(RetryAfterSeconds({cause, "why", ""}), passes ? 1 : 0);
    EXPECT_EQ(RetryAfterSeconds({cause, "why", "", 7}), passes ? 7 : 0);
  }
}

}  // namespace
}  // namespace affine
