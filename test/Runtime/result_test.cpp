//===- result_test.cpp - Unchecked reads of results -----------------------===//
//
// A single request once ended mtp-serve, because it read the value of a result
// with an error (bugreports/q: transformers#35244, mlx-vlm#1917 have such ids).
//
// The types are local to each file, so that no other file has their functions.
//
//===----------------------------------------------------------------------===//

#undef MTP_CHECK_RESULTS
#define MTP_CHECK_RESULTS
#include "runtime/core/Result.h"

#include "support/result_layout.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>

using namespace mtp;

namespace {
struct Number {
  int value = 7;
  int get() const { return value; }
};

Result<Number> make(bool works) {
  if (works)
    return Number();
  return outOfRange("expected a token id below 112, got 120");
}
} // namespace

TEST(Result, IsReadBehindAQuestion) {
  Result<Number> result = make(true);
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result.value().get(), 7);
  EXPECT_EQ((*result).get(), 7);
  EXPECT_EQ(result->get(), 7);
  const Result<Number> fixed = make(true);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed.value().get() + (*fixed).get() + fixed->get(), 21);
  EXPECT_EQ(std::move(result).value().get(), 7);
}

TEST(Result, IsAskedByItsStatusToo) {
  Result<Number> result = make(true);
  ASSERT_TRUE(result.status().isOk());
  EXPECT_EQ(result->get(), 7);
}

TEST(ResultDeathTest, StopsWhereNobodyAsked) {
  const char *message = "read before it was asked";
  EXPECT_DEATH((void)make(true).value(), message);
  EXPECT_DEATH((void)*make(true), message);
  EXPECT_DEATH((void)make(true)->get(), message);
  EXPECT_DEATH((void)make(false).value(), message);
  const Result<Number> fixed = make(true);
  EXPECT_DEATH((void)fixed.value(), message);
  EXPECT_DEATH((void)*fixed, message);
  EXPECT_DEATH((void)fixed->get(), message);
}

TEST(ResultDeathTest, StopsWhereTheAnswerWasNo) {
  Result<Number> result = make(false);
  EXPECT_FALSE(result.isOk());
  EXPECT_DEATH((void)result->get(), "OutOfRange: expected a token id below");
}

// A copied, moved or assigned result starts unchecked.
TEST(ResultDeathTest, AsksEachResultItself) {
  const char *message = "read before it was asked";
  Result<Number> result = make(true);
  ASSERT_TRUE(result);
  Result<Number> copy = result;
  EXPECT_DEATH((void)copy->get(), message);
  Result<Number> moved = std::move(copy);
  EXPECT_DEATH((void)moved->get(), message);
  result = make(true);
  EXPECT_DEATH((void)result->get(), message);
}

// A user's build may define the macro or not, independent of the library's
// build.
TEST(Result, HasOneLayout) {
  EXPECT_EQ(sizeof(Result<char>), sizesWithoutChecks[0]);
  EXPECT_EQ(sizeof(Result<int64_t>), sizesWithoutChecks[1]);
  EXPECT_EQ(sizeof(Result<std::string>), sizesWithoutChecks[2]);
  EXPECT_EQ(sizeof(Result<std::unique_ptr<int>>), sizesWithoutChecks[3]);
}
