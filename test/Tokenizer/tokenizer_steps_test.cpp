//===- tokenizer_steps_test.cpp - Steps of another implementation ---------===//
//
// Tests every line of test/oracle/tokenizers/steps.jsonl.gz.
// test/oracle/tokenizer_steps.py makes them with Hugging Face's library and
// describes them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "runtime/tokenizer/ByteAlphabet.h"
#include "runtime/tokenizer/CharClass.h"
#include "runtime/tokenizer/TextPipeline.h"
#include "runtime/utf8/Utf8.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

#include <functional>

using namespace mtp;
using namespace mtp::test;

namespace {

using Words = std::vector<std::string>;

/// The compiled steps of a normalizer or a pre-tokenizer.
class Steps {
public:
  explicit Steps(StepList list) {
    schema::TokenizerT tables;
    tables.pre_tokenizer = std::move(list);
    builder.Finish(schema::Tokenizer::Pack(builder, &tables));
    const auto *packed =
        flatbuffers::GetRoot<schema::Tokenizer>(builder.GetBufferPointer())
            ->pre_tokenizer();
    TextPipeline::StepTables steps;
    if (packed)
      steps.assign(packed->begin(), packed->end());
    pipeline = TextPipeline::create(steps);
  }

  Status status() const { return pipeline.status(); }

  /// Returns the pieces of `list`.
  Result<PieceList> run(PieceList list) const {
    MatchScratch scratch;
    MTP_RETURN_IF_ERROR(pipeline->apply(list, /*atStart=*/true, scratch));
    return list;
  }

private:
  flatbuffers::FlatBufferBuilder builder;
  Result<TextPipeline> pipeline = internalError("not created");
};

std::string_view textOf(const PieceList &list, TextSpan span) {
  return std::string_view(list.text).substr(span.begin, span.end - span.begin);
}

std::string stringOf(const JsonValue &value) {
  auto text = value.asString();
  EXPECT_TRUE(text.isOk()) << text.status().toString();
  return text.isOk() ? std::string(*text) : std::string();
}

std::vector<JsonValue> itemsOf(const JsonValue &value) {
  auto items = value.asArray();
  EXPECT_TRUE(items.isOk()) << items.status().toString();
  return items.isOk() ? *items : std::vector<JsonValue>();
}

std::vector<JsonValue> itemsOf(const JsonValue &line, const char *key) {
  std::optional<JsonValue> value = line.find(key);
  return value ? itemsOf(*value) : std::vector<JsonValue>();
}

uint32_t numberOf(const JsonValue &value) { return value.asUint32().value(); }

/// Calls `check` for every line that has `key`.
void forEachLine(const char *key,
                 const std::function<void(const JsonValue &)> &check) {
  std::istringstream lines(readGzip(std::filesystem::path(MTP_SOURCE_DIR) /
                                    "test/oracle/tokenizers/steps.jsonl.gz"));
  size_t count = 0;
  for (std::string text; std::getline(lines, text);) {
    auto line = JsonDocument::parse("steps.jsonl", text);
    MTP_ASSERT_OK(line);
    if (!line->root().find(key))
      continue;
    ++count;
    check(line->root());
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << text.substr(0, 200);
  }
  EXPECT_GT(count, 0u);
}

void checkWords(const JsonValue &line, const Steps &steps, bool isByteLevel) {
  for (const JsonValue &item : itemsOf(line, "cases")) {
    std::vector<JsonValue> pair = itemsOf(item);
    ASSERT_EQ(pair.size(), 2u);
    std::string text = stringOf(pair[0]);
    Words expected, got;
    for (const JsonValue &word : itemsOf(pair[1]))
      expected.push_back(stringOf(word));
    PieceList whole{text, {}};
    if (!text.empty())
      whole.pieces.push_back({0, text.size()});
    auto list = steps.run(std::move(whole));
    MTP_ASSERT_OK(list);
    for (TextSpan piece : list->pieces) {
      std::string word(textOf(*list, piece));
      if (isByteLevel) {
        std::string bytes = std::move(word);
        word.clear();
        appendCharactersOfBytes(bytes, word);
      }
      got.push_back(std::move(word));
    }
    EXPECT_EQ(got, expected) << text;
  }
}

/// The characters of "counts", and the number of words of each.
struct Counts {
  std::vector<uint32_t> codePoints, words;
};

/// Returns the characters that this machine's PCRE2 knows. The library has a
/// later version of Unicode, so the test leaves the other characters out.
std::vector<bool> assignedCharacters() {
  std::vector<bool> assigned(0x110000, true);
  auto unassigned = Regex::compile("[\\p{Cn}\\p{Cs}]");
  EXPECT_TRUE(unassigned.isOk());
  MatchScratch scratch;
  std::vector<TextSpan> matches;
  for (uint32_t c = 0; c < assigned.size(); ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      assigned[c] = false;
      continue;
    }
    std::string text;
    appendUtf8(text, c);
    EXPECT_TRUE(
        unassigned->findAll(text, {0, text.size()}, scratch, matches).isOk());
    assigned[c] = matches.empty();
  }
  return assigned;
}

Counts readCounts(const JsonValue &line) {
  static const std::vector<bool> assigned = assignedCharacters();
  Counts counts;
  for (const JsonValue &item : itemsOf(line, "counts")) {
    std::vector<JsonValue> run = itemsOf(item);
    for (uint32_t c = numberOf(run[0]); c <= numberOf(run[1]); ++c)
      if (assigned[c]) {
        counts.codePoints.push_back(c);
        counts.words.push_back(numberOf(run[2]));
      }
  }
  return counts;
}

/// Tests all characters at once. Each is between two letters, in a piece of its
/// own.
void checkCounts(const JsonValue &line, const Steps &steps) {
  Counts counts = readCounts(line);
  EXPECT_GT(counts.codePoints.size(), 250'000u);
  PieceList list;
  for (uint32_t c : counts.codePoints) {
    size_t begin = list.text.size();
    list.text.push_back('a');
    appendUtf8(list.text, c);
    list.text.push_back('b');
    list.pieces.push_back({begin, list.text.size()});
  }
  std::vector<TextSpan> whole = list.pieces;
  auto cut = steps.run(std::move(list));
  MTP_ASSERT_OK(cut);
  size_t at = 0, wrong = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    uint32_t words = 0;
    for (; at < cut->pieces.size() && cut->pieces[at].end <= whole[i].end; ++at)
      ++words;
    if (words != counts.words[i] && ++wrong < 10)
      ADD_FAILURE() << "U+" << std::hex << counts.codePoints[i] << std::dec
                    << ": expected " << counts.words[i] << " words, got "
                    << words;
  }
  EXPECT_EQ(wrong, 0u);
}

Ids idsOf(const JsonValue &value) {
  Ids ids;
  for (const JsonValue &id : itemsOf(value))
    ids.push_back(static_cast<TokenId>(numberOf(id)));
  return ids;
}

} // namespace

TEST(TokenizerSteps, preTokenizersAgree) {
  forEachLine("pre", [](const JsonValue &line) {
    StepList list;
    bool isByteLevel = false;
    Status status = readPreTokenizer(*line.find("pre"), list, isByteLevel);
    ASSERT_TRUE(status.isOk()) << status.toString();
    Steps steps(std::move(list));
    ASSERT_TRUE(steps.status().isOk()) << steps.status().toString();
    SCOPED_TRACE(line.find("pre")->expected("it").message());
    if (line.find("counts"))
      checkCounts(line, steps);
    else
      checkWords(line, steps, isByteLevel);
  });
}

TEST(TokenizerSteps, normalizersAgree) {
  forEachLine("norm", [](const JsonValue &line) {
    StepList list;
    Status status = readNormalizer(*line.find("norm"), list);
    ASSERT_TRUE(status.isOk()) << status.toString();
    Steps steps(std::move(list));
    ASSERT_TRUE(steps.status().isOk()) << steps.status().toString();
    for (const JsonValue &item : itemsOf(line, "cases")) {
      std::string text = stringOf(itemsOf(item)[0]);
      auto got = steps.run({text, {{0, text.size()}}});
      MTP_ASSERT_OK(got);
      EXPECT_EQ(got->text, stringOf(itemsOf(item)[1])) << text;
    }
  });
}

TEST(TokenizerSteps, wholeTokenizersAgree) {
  forEachLine("json", [](const JsonValue &line) {
    auto tokenizer = loadJson(stringOf(*line.find("json")));
    MTP_ASSERT_OK(tokenizer);
    for (const JsonValue &item : itemsOf(line, "cases")) {
      std::string text = stringOf(itemsOf(item)[0]);
      auto ids = (*tokenizer)
                     ->encode(text, {/*addSpecial=*/false,
                                     /*parseSpecial=*/true});
      MTP_ASSERT_OK(ids);
      EXPECT_EQ(*ids, idsOf(itemsOf(item)[1])) << text;
    }
    for (const JsonValue &item : itemsOf(line, "decoded")) {
      auto text =
          (*tokenizer)
              ->decode(idsOf(itemsOf(item)[0]), {/*skipSpecial=*/false});
      MTP_ASSERT_OK(text);
      EXPECT_EQ(*text, stringOf(itemsOf(item)[1]));
    }
  });
}

TEST(TokenizerSteps, wordCharactersAgree) {
  forEachLine("word", [](const JsonValue &line) {
    std::vector<bool> expected(0x110000);
    for (const JsonValue &item : itemsOf(line, "word"))
      for (uint32_t c = numberOf(itemsOf(item)[0]);
           c <= numberOf(itemsOf(item)[1]); ++c)
        expected[c] = true;
    std::vector<bool> assigned = assignedCharacters();
    for (uint32_t c = 0; c < expected.size(); ++c)
      if (assigned[c])
        EXPECT_EQ(isWordCharacter(c), expected[c]) << "U+" << std::hex << c;
  });
}
