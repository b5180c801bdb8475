//===- safetensors_test.cpp - Good and malformed files --------------------===//

#include "compiler/Weights/Safetensors.h"
#include "compiler/Weights/WeightFile.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace mtp;
using namespace mtp::test;

namespace {

Result<TensorMap> parse(const std::string &bytes) {
  return parseSafetensors(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

std::string tensor(const std::string &type, const std::string &shape,
                   const std::string &offsets) {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

/// Expects a failure whose message contains `text`.
void expectError(const std::string &bytes, const std::string &text) {
  Result<TensorMap> result = parse(bytes);
  ASSERT_FALSE(result.isOk()) << "expected: " << text;
  EXPECT_NE(result.status().message().find(text), std::string_view::npos)
      << result.status().toString();
}

void expectHeaderError(const std::string &header, const std::string &data,
                       const std::string &text) {
  expectError(makeFile(header, data), text);
}

TEST(Safetensors, ReadsTensors) {
  auto result = parse(makeFile("{\"__metadata__\":{\"format\":\"pt\"},\"b\":" +
                                   tensor("F32", "[2]", "[6,14]") + ",\"a\":" +
                                   tensor("BF16", "[3,1]", "[0,6]") + "}",
                               std::string(14, 'x')));
  ASSERT_TRUE(result.isOk()) << result.status().toString();
  ASSERT_EQ(result->size(), 2u);
  const TensorEntry &a = result->at("a");
  EXPECT_EQ(a.type, WeightType::BF16);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(a.size, 6u);
  EXPECT_EQ(result->at("b").offset, a.offset + 6);
}

TEST(Safetensors, AcceptsEmptyFilesZeroSizesScalarsAndWhitespace) {
  EXPECT_TRUE(parse(makeFile("{}")).isOk());
  EXPECT_TRUE(parse(makeFile("  {}   ")).isOk());
  EXPECT_TRUE(parse(makeFile("{\"__metadata__\":null}")).isOk());
  EXPECT_TRUE(parse(makeFile("{\"z\":" + tensor("F32", "[2,0]", "[0,0]") + "}"))
                  .isOk());
  EXPECT_TRUE(
      parse(makeFile("{\"s\":" + tensor("F32", "[]", "[0,4]") + "}", "abcd"))
          .isOk());
  EXPECT_TRUE(
      parse(makeFile("{\"p\":" + tensor("F4", "[2]", "[0,1]") + "}", "a"))
          .isOk());
}

TEST(Safetensors, RefusesBadLengths) {
  expectError("", "at least 8 bytes, got 0");
  expectError("1234567", "at least 8 bytes, got 7");
  expectError(std::string("\x02\0\0\0\0\0\0\0{", 9),
              "header of 2 bytes, got 1");
  expectError(std::string(8, '\xff'), "header of at most 100000000");
  expectError(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8),
              "header of at most 100000000 bytes, got 100000001");
  expectError(std::string("\0\xe1\xf5\x05\0\0\0\0", 8), "got 0");
}

TEST(Safetensors, RefusesBadJson) {
  expectHeaderError("", "", "header");
  expectHeaderError("not json", "", "valid JSON");
  expectHeaderError("{\"a\":1,}", "", "valid JSON");
  expectHeaderError("{} {}", "", "valid JSON");
  expectHeaderError("{\"\xff\":1}", "", "valid JSON");
  expectHeaderError("{\"\xc0\x80\":1}", "", "valid JSON");
  expectHeaderError("{\"\xed\xa0\x80\":1}", "", "valid JSON");
  expectHeaderError("[]", "", "expected an object, got an array");
  expectHeaderError("{\"a\":NaN}", "", "valid JSON");
  expectHeaderError(std::string(200000, '['), "", "valid JSON");
  expectHeaderError(std::string(200000, '[') + std::string(200000, ']'), "",
                    "nested at most");
  std::string deep = "1";
  for (int i = 0; i < 5; ++i)
    deep = "{\"a\":" + deep + "}";
  expectHeaderError(deep, "", "nested at most 4 deep");
}

TEST(Safetensors, RefusesDuplicateKeys) {
  std::string t = tensor("U8", "[1]", "[0,1]");
  expectHeaderError("{\"a\":" + t + ",\"a\":" + t + "}", "x",
                    "duplicate key \"a\"");
  expectHeaderError("{\"a\":" + t + ",\"\\u0061\":" + t + "}", "x",
                    "duplicate key \"a\"");
  expectHeaderError("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],"
                    "\"data_offsets\":[0,1]}}",
                    "x", "duplicate key \"dtype\"");
}

TEST(Safetensors, RefusesBadFields) {
  expectHeaderError("{\"a\":3}", "", "tensor \"a\": expected an object");
  expectHeaderError("{\"__metadata__\":[]}", "", "__metadata__");
  expectHeaderError("{\"__metadata__\":{\"a\":1}}", "", "got an integer");
  expectHeaderError("{\"a\":" + tensor("F31", "[1]", "[0,4]") + "}", "abcd",
                    "unknown dtype \"F31\"");
  expectHeaderError("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "x",
                    "\"dtype\"");
  expectHeaderError("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "x",
                    "expected \"shape\"");
  expectHeaderError("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "x",
                    "expected \"data_offsets\"");
  for (const char *shape : {"[-1]", "[1.0]", "[\"1\"]", "[true]", "[null]",
                            "[18446744073709551616]"})
    expectHeaderError("{\"a\":" + tensor("U8", shape, "[0,1]") + "}", "x", "");
  expectHeaderError("{\"a\":" + tensor("U8", "1", "[0,1]") + "}", "x",
                    "array in \"shape\", got an integer");
  for (const char *offsets : {"[]", "[0]", "[0,1,1]", "[1,0]"})
    expectHeaderError("{\"a\":" + tensor("U8", "[1]", offsets) + "}", "x",
                      "data_offsets");
}

TEST(Safetensors, RefusesWrongSizesAndOverflow) {
  expectHeaderError("{\"a\":" + tensor("F32", "[2]", "[0,4]") + "}", "abcd",
                    "expected 8 bytes, got 4");
  expectHeaderError("{\"a\":" + tensor("F4", "[3]", "[0,1]") + "}", "x",
                    "whole bytes, got 12 bits");
  expectHeaderError(
      "{\"a\":" + tensor("U8", "[4294967296,4294967296]", "[0,0]") + "}", "",
      "more bits than can be counted");
  expectHeaderError(
      "{\"a\":" + tensor("F64", "[2305843009213693952]", "[0,0]") + "}", "",
      "more bits than can be counted");
  expectHeaderError(
      "{\"a\":" + tensor("U8", "[18446744073709551615,0]", "[0,0]") + "}", "",
      "more bits than can be counted");
}

TEST(Safetensors, RefusesHolesOverlapsAndRests) {
  std::string one = tensor("U8", "[1]", "[0,1]");
  expectHeaderError("{\"a\":" + one + "}", "xy",
                    "expected 1 bytes of tensors, got 2");
  expectHeaderError("{\"a\":" + tensor("U8", "[3]", "[0,3]") + "}", "x",
                    "expected 3 bytes of tensors, got 1");
  expectHeaderError("{\"a\":" + tensor("U8", "[1]", "[1,2]") + "}", "xy",
                    "expected to begin at 0, got 1");
  expectHeaderError("{\"a\":" + one + ",\"b\":" + tensor("U8", "[1]", "[2,3]") +
                        "}",
                    "xyz", "expected to begin at 1, got 2");
  expectHeaderError("{\"a\":" + one + ",\"b\":" + one + "}", "x",
                    "tensor \"b\": expected to begin at 1, got 0");
  expectHeaderError("{\"a\":" +
                        tensor("U8", "[1]",
                               "[18446744073709551614,"
                               "18446744073709551615]") +
                        "}",
                    "x", "expected to begin at 0");
  expectHeaderError("{}", "x", "expected 0 bytes of tensors, got 1");
}

TEST(Safetensors, RefusesEveryTruncation) {
  std::string bytes = FileBuilder()
                          .addF32("a", {2, 2}, {1, 2, 3, 4})
                          .addBF16("b", {3}, {1, 2, 3})
                          .build();
  ASSERT_TRUE(parse(bytes).isOk());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse(bytes.substr(0, size)).isOk()) << size;
}

TEST(Safetensors, OpensOnlyRegularFiles) {
  TemporaryFolder folder;
  EXPECT_EQ(WeightFile::open(folder.path("none")).status().code(),
            StatusCode::NotFound);
  EXPECT_EQ(WeightFile::open(folder.path()).status().code(),
            StatusCode::InvalidArgument);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(WeightFile::open(folder.path("pipe")).status().code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(WeightFile::open("/dev/null").status().code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(WeightFile::open(folder.write("empty", "")).status().code(),
            StatusCode::DataLoss);
}

} // namespace
