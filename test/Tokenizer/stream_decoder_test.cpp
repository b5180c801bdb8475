//===- stream_decoder_test.cpp - Text from a stream of ids ----------------===//

#include "runtime/tokenizer/StreamDecoder.h"
#include "runtime/utf8/Utf8.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr const char *kReplacement = "\xEF\xBF\xBD";

/// Returns ids of bytes: in byteLevelJson() the id of a byte is the byte.
Ids bytesOf(std::string_view text) {
  Ids ids;
  for (char byte : text)
    ids.push_back(static_cast<uint8_t>(byte));
  return ids;
}

class StreamDecoderTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto result = loadJson(byteLevelJson());
    MTP_ASSERT_OK(result);
    loaded = *std::move(result);
  }

  std::string decodeAll(std::string_view bytes) {
    StreamDecoder decoder(*loaded);
    std::string text;
    for (TokenId id : bytesOf(bytes)) {
      auto part = decoder.append(id);
      EXPECT_TRUE(part.isOk());
      EXPECT_TRUE(isValidUtf8(*part));
      text += *part;
    }
    return text + decoder.finish();
  }

  LoadedTokenizer loaded;
};

} // namespace

TEST_F(StreamDecoderTest, holdsBackIncompleteCharacters) {
  StreamDecoder decoder(*loaded);
  for (TokenId byte : {0xF0, 0x9F, 0x99})
    EXPECT_EQ(*decoder.append(byte), "");
  EXPECT_EQ(*decoder.append(0x82), "\xF0\x9F\x99\x82");
  EXPECT_EQ(*decoder.append('a'), "a");
  EXPECT_EQ(decoder.finish(), "");
}

TEST_F(StreamDecoderTest, replacesMaximalIllFormedParts) {
  std::string r = kReplacement;
  // The examples of the Unicode standard, tables 3-8 to 3-11.
  EXPECT_EQ(decodeAll("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decodeAll("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decodeAll("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(decodeAll("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            r + r + r + r + "A");
}

TEST_F(StreamDecoderTest, replacesWhatTheEndLeavesIncomplete) {
  StreamDecoder decoder(*loaded);
  EXPECT_EQ(*decoder.append(0xE2), "");
  EXPECT_EQ(*decoder.append(0x82), "");
  EXPECT_EQ(decoder.finish(), kReplacement);
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(*decoder.append('a'), "a");
}

TEST_F(StreamDecoderTest, keepsCharactersAcrossSpecialTokens) {
  StreamDecoder decoder(*loaded);
  EXPECT_EQ(*decoder.append(0xC3), "");
  EXPECT_EQ(*decoder.append(263), "");
  EXPECT_EQ(*decoder.append(0xA9), "\xC3\xA9");
}

TEST_F(StreamDecoderTest, refusesIdsOutOfRangeAndGoesOn) {
  StreamDecoder decoder(*loaded);
  EXPECT_EQ(*decoder.append(0xC3), "");
  EXPECT_EQ(decoder.append(INT32_MIN).status().code(), StatusCode::OutOfRange);
  EXPECT_EQ(decoder.append(-1).status().code(), StatusCode::OutOfRange);
  EXPECT_EQ(*decoder.append(0xA9), "\xC3\xA9");
}

// A padded vocabulary has ids without tokens (bugreports/a: pegainfer#673,
// transformers#35244).
TEST_F(StreamDecoderTest, passesOverIdsWithoutATokenInMidCharacter) {
  StreamDecoder decoder(*loaded);
  EXPECT_EQ(*decoder.append(0xC3), "");
  EXPECT_EQ(*decoder.append(265), "");
  EXPECT_EQ(*decoder.append(INT32_MAX), "");
  EXPECT_EQ(*decoder.append(0xA9), "\xC3\xA9");
}

TEST_F(StreamDecoderTest, isCopiedInMidStream) {
  StreamDecoder decoder(*loaded);
  EXPECT_EQ(*decoder.append(0xC3), "");
  StreamDecoder draft = decoder;
  EXPECT_EQ(*draft.append('x'), std::string(kReplacement) + "x");
  EXPECT_EQ(*decoder.append(0xA9), "\xC3\xA9");
}

TEST_F(StreamDecoderTest, joinsToWhatDecodeYields) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Ids ids;
    for (int i = 0; i < 24; ++i)
      ids.push_back(static_cast<TokenId>(random() % 4 ? 0x80 + random() % 0x80
                                                      : random() % 265));
    StreamDecoder decoder(*loaded);
    std::string text;
    for (TokenId id : ids) {
      auto part = decoder.append(id);
      MTP_ASSERT_OK(part);
      ASSERT_TRUE(isValidUtf8(*part));
      text += *part;
    }
    text += decoder.finish();
    ASSERT_EQ(text, *loaded->decode(ids));
  }
}

TEST_F(StreamDecoderTest, yieldsEveryCharacterByteByByte) {
  std::string text;
  for (uint32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 97)
    if (c < 0xD800 || c > 0xDFFF)
      appendUtf8(text, c);
  EXPECT_EQ(decodeAll(text), text);
}

TEST(StreamDecoder, stripsTheSpaceOfAFirstWordOnly) {
  auto loaded = loadJson(characterJson());
  MTP_ASSERT_OK(loaded);
  StreamDecoder decoder(**loaded);
  EXPECT_EQ(*decoder.append(1), "");
  EXPECT_EQ(*decoder.append(264), "ab");
  EXPECT_EQ(*decoder.append(264), " ab");
  EXPECT_EQ(decoder.finish(), "");
  // An id without text does not begin a text.
  EXPECT_EQ(*decoder.append(INT32_MAX), "");
  EXPECT_EQ(*decoder.append(264), "ab");

  StreamDecoder continuing(**loaded, {true, /*atTextStart=*/false});
  EXPECT_EQ(*continuing.append(264), " ab");
}
