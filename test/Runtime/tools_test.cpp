//===- tools_test.cpp - mtp-run and mtp-dump ------------------------------===//

#include "runtime/json/JsonWriter.h"
#include "support/FakeModel.h"
#include "tools/mtp-run/Compare.h"
#include "tools/mtp-run/tensors/Npy.h"
#include "tools/mtp-run/tensors/TensorLiteral.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns a literal after reading and printing, or the message.
std::string roundTrip(std::string_view text) {
  Result<Tensor> tensor = parseTensor(text);
  return tensor ? tensorText(*tensor) : std::string(tensor.status().message());
}

struct Ran {
  int status = -1;
  std::string output;
};

/// Runs a tool with standard error merged into the output.
Ran runTool(const std::string &tool, const std::string &arguments) {
  FILE *pipe = popen((tool + " " + arguments + " 2>&1").c_str(), "r");
  Ran ran;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    ran.output.append(buffer, count);
  int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

const std::string &artifact() {
  static std::string path = writeFile("tools.bin", makeFakeModel({}).finish());
  return path;
}

Ran run(const std::string &arguments) {
  return runTool(MTP_RUN_TOOL, artifact() + " " + arguments);
}

std::string expectedIds(std::vector<int32_t> prompt, uint32_t count) {
  Request r;
  r.prompt = std::move(prompt);
  r.maxTokens = count;
  std::string text;
  for (int32_t token : expectedOutput(r).tokens)
    text += (text.empty() ? "" : " ") + std::to_string(token);
  return text + "\n";
}

} // namespace

namespace {
/// Texts of tensors, which their types name.
class TensorText : public testing::TestWithParam<const char *> {};
class NpyOf : public testing::TestWithParam<const char *> {};
} // namespace

static std::string typeOf(const testing::TestParamInfo<const char *> &info) {
  std::string text = info.param;
  return text.substr(0, text.find('='));
}

INSTANTIATE_TEST_SUITE_P(
    Types, TensorText,
    testing::Values("2x3xi32=[[1, 2, 3], [-4, 5, 6]]", "f32=1.5", "0xf32=[]",
                    "3xf64=[0.1, 1e+300, -0]", "2xi1=[true, false]",
                    "2x1x2xi64=[[[9223372036854775807, 0]], [[1, 2]]]",
                    "3xbf16=[1, 0.5, -3]",
                    "4xf16=[1, 0.5, 65504, 5.9604645e-08]", "2xf32=[inf, -inf]",
                    "1xf32=[nan]", "2xi8=[-128, 127]", "1xui8=[255]"),
    typeOf);

TEST_P(TensorText, IsReadAsItIsPrinted) {
  EXPECT_EQ(roundTrip(GetParam()), GetParam());
  EXPECT_EQ(roundTrip("2x2xi32=[[1 2][3 4]]"), "2x2xi32=[[1, 2], [3, 4]]");
  EXPECT_EQ(roundTrip("2x2xf32=7"), "2x2xf32=[[7, 7], [7, 7]]");
  EXPECT_EQ(roundTrip("2xbf16=[1.00390625, 1.01171875]"),
            "2xbf16=[1, 1.015625]"); // to even
}

TEST(TensorLiteral, SaysWhatIsWrong) {
  EXPECT_EQ(roundTrip("5"), "expected a tensor such as 2xi32=[1, 2] or "
                            "@file.npy, got '5'");
  EXPECT_EQ(roundTrip("2xi7=[1]"), "unknown element type 'i7'");
  EXPECT_EQ(roundTrip("2i32=[1]"),
            "expected a type such as 2x4xi32, got '2i32'");
  EXPECT_EQ(roundTrip("2xi32=[1]"), "expected a number of type i32, got ''");
  EXPECT_EQ(roundTrip("2xi32=[1, 2, 3]"),
            "expected 2 elements and ']', got '3]'");
  EXPECT_EQ(roundTrip("2xi32=[1, 2.5]"),
            "expected a number of type i32, got '2.5'");
  EXPECT_EQ(roundTrip("1xi8=[128]"), "expected a number of type i8, got '128'");
  EXPECT_EQ(roundTrip("2xi32=[1, 2] 3"),
            "expected nothing after the value, got '3'");
  EXPECT_EQ(roundTrip("99999999999x99999999999xf32=0"),
            "expected at most 67108864 elements, got "
            "'99999999999x99999999999xf32'");
  EXPECT_EQ(roundTrip("1x1x1x1x1x1x1x1x1xi8=0"),
            "expected at most 8 dimensions, got '1x1x1x1x1x1x1x1x1xi8'");
}

INSTANTIATE_TEST_SUITE_P(Types, NpyOf,
                         testing::Values("2x3xi32=[[1, 2, 3], [4, 5, 6]]",
                                         "f32=2.5",
                                         "4xi1=[true, true, false, true]"),
                         typeOf);

TEST_P(NpyOf, RoundTrip) {
  std::string bytes = npyText(*parseTensor(GetParam()));
  std::string path = writeFile("npy_" + std::to_string(bytes.size()),
                               {bytes.begin(), bytes.end()});
  EXPECT_EQ(roundTrip("@" + path), GetParam());
  std::remove(path.c_str());
}

TEST(Npy, RefusesBrokenFiles) {
  std::string bytes = npyText(*parseTensor("4xf32=[1, 2, 3, 4]"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string shorter =
        writeFile("short.npy", {bytes.begin(), bytes.begin() + int64_t(size)});
    EXPECT_FALSE(readNpy(shorter).isOk()) << size;
    std::remove(shorter.c_str());
  }
}

TEST(Compare, NamesTheFirstDifference) {
  auto message = [](const char *expected, const char *got, double tolerance) {
    return compareTensors(*parseTensor(expected), *parseTensor(got), tolerance)
        .toString();
  };
  EXPECT_EQ(message("2xf32=[1, nan]", "2xf32=[1, nan]", 0), "Ok");
  EXPECT_EQ(message("2xf32=[1, 2]", "2xf32=[1, 2.01]", 0.01), "Ok");
  EXPECT_EQ(message("2x2xi32=[[1, 2], [3, 4]]", "2x2xi32=[[1, 2], [5, 6]]", 0),
            "FailedPrecondition: element [1, 0]: expected 3, got 5 (2 of 4 "
            "elements differ)");
  EXPECT_EQ(message("2xf32=0", "2xi32=0", 0),
            "FailedPrecondition: expected 2xf32, got 2xi32");
}

TEST(Json, EscapesAndIndents) {
  JsonWriter json;
  json.beginObject();
  json.field("a\"b", "c\n\x01");
  json.field("list", std::vector<int>{1, 2});
  json.key("empty");
  json.beginArray();
  json.endArray();
  json.field("nan", 0.0 / 0.0);
  json.field("yes", true);
  json.endObject();
  EXPECT_EQ(json.text(), "{\n  \"a\\\"b\": \"c\\n\\u0001\",\n  \"list\": [1, "
                         "2],\n  \"empty\": [],\n  \"nan\": null,\n  \"yes\": "
                         "true\n}");
}

TEST(MtpRun, GeneratesIds) {
  Ran ran = run("--ids 3,1,4 -n 20");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.output, expectedIds({3, 1, 4}, 20));
  ran = run("--no-mmap --ids 3,1,4 --ids '5 6' -n 9 --k 0 --threads 1");
  EXPECT_EQ(ran.output, "--- prompt 0\n" + expectedIds({3, 1, 4}, 9) +
                            "--- prompt 1\n" + expectedIds({5, 6}, 9));
}

TEST(MtpRun, VerifiesLargeWeightsWhereAsked) {
  ArtifactBuilder a = makeFakeModel({});
  a.addSegment(schema::SegmentKind::Weights,
               std::vector<uint8_t>((16 << 20) + 4096, 1));
  std::vector<uint8_t> file = a.finish();
  file.back() ^= 1;
  std::string damaged = writeFile("damaged.bin", file);
  Ran ran = runTool(MTP_RUN_TOOL, damaged + " --ids 3,1,4 -n 20");
  EXPECT_EQ(ran.output, expectedIds({3, 1, 4}, 20)) << "nobody reads them";
  ran = runTool(MTP_RUN_TOOL, damaged + " --verify --ids 3,1,4 -n 20");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("segments[1]: its bytes do not match their hash"),
            std::string::npos)
      << ran.output;
}

TEST(MtpRun, ReportsJson) {
  Ran ran = run("--json --ids 3,1,4 -n 20 --k 2");
  EXPECT_EQ(ran.status, 0);
  for (const char *key :
       {"\"output_ids\": [", "\"finish\": \"length\"", "\"acceptance\": [",
        "\"acceptance_length\": ", "\"tokens_per_second\": ", "\"k\": 2"})
    EXPECT_NE(ran.output.find(key), std::string::npos) << ran.output;
}

namespace {
class MtpRunCounts : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Tokens, MtpRunCounts, testing::Values(1, 2, 11),
                         testing::PrintToStringParamName());

// A round may emit more than the limit leaves room for.
TEST_P(MtpRunCounts, WhatWasGivenToTheCaller) {
  std::string count = std::to_string(GetParam());
  Ran ran = run("--stats --ids 3,1,4 --k 4 -n " + count);
  std::string line =
      "decode: " + std::to_string(GetParam() - 1) + " tokens in ";
  EXPECT_NE(ran.output.find(line), std::string::npos) << ran.output;
}

TEST(MtpRun, CountsTheTokensOfAllPrompts) {
  Ran ran = run("--json --ids 3,1,4 --ids 5,6 --k 4 -n 2");
  EXPECT_NE(ran.output.find("\"output_tokens\": 4"), std::string::npos);
  EXPECT_NE(ran.output.find("\"tokens\": 2,"), std::string::npos) << ran.output;
}

/// Returns mtp-run's output for `tokens`, scored in windows.
static std::string expectedPerplexity(const std::vector<int32_t> &tokens,
                                      size_t window) {
  double loss = 0;
  unsigned scored = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % window == 0)
      continue;
    auto begin = tokens.begin() + ptrdiff_t(i / window * window);
    std::vector<float> logits =
        fakeLogits({begin, tokens.begin() + ptrdiff_t(i)});
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(double(logit));
    loss += std::log(sum) - double(logits[size_t(tokens[i])]);
    ++scored;
  }
  loss /= scored;
  char line[128];
  std::snprintf(line, sizeof(line),
                "perplexity %.4f (%.5f nats a token, %u tokens)\n",
                std::exp(loss), loss, scored);
  return line;
}

TEST(MtpRun, ScoresText) {
  std::vector<int32_t> text = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  std::string ids = " --ids '3 1 4 1 5 9 2 6 5 3 5 8'";
  EXPECT_EQ(run("--perplexity" + ids).output, expectedPerplexity(text, 96));
  // The last window is short; a single token has nothing to be scored from.
  EXPECT_EQ(run("--perplexity --window 5" + ids).output,
            expectedPerplexity(text, 5));
  EXPECT_EQ(run("--perplexity --window 11 --threads 2" + ids).output,
            expectedPerplexity(text, 11));
  Ran json = run("--perplexity --json --ids 3,1 --ids 4,1,5");
  EXPECT_EQ(json.status, 0);
  EXPECT_NE(json.output.find("\"tokens\": 3"), std::string::npos)
      << json.output;
}

TEST(MtpRun, RunsFunctions) {
  Ran ran = run("--function=@twice --input='4xf32=[1, 2, 3, 4]'");
  EXPECT_EQ(ran.output, "4xf32=[2, 4, 6, 8]\n");
  ran = run("--function=@twice --input=4xf32=1 --expected-output=4xf32=2");
  EXPECT_EQ(ran.status, 0) << ran.output;
  ran = run("--function=@twice --input=4xf32=1 --expected-output=4xf32=3");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "mtp-run: error: @twice: result 0: element [0]: expected 3, got 2 "
            "(4 of 4 elements differ)\n");
}

/// A refused command line of mtp-run, and the name of its test.
struct Refusal {
  const char *name;
  const char *flags;
  int status;
  const char *message;
};

class MtpRunRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(MtpRunRefuses, WithAMessage) {
  const Refusal &c = GetParam();
  Ran ran = run(c.flags);
  EXPECT_EQ(ran.status, c.status) << c.flags << "\n" << ran.output;
  EXPECT_NE(ran.output.find(c.message), std::string::npos) << c.flags << "\n"
                                                           << ran.output;
}

const Refusal kRefusals[] = {
    Refusal{"NoPrompt", "", 2,
            "expected --prompt, --prompt-file, --ids, --chat or --function"},
    Refusal{"TextWithoutTokenizer", "--prompt x", 1,
            "--prompt: the artifact has no tokenizer; give --ids"},
    Refusal{"IdsNoNumbers", "--ids 1,x", 1,
            "--ids: expected token ids such as 1,2,3, got '1,x'"},
    Refusal{"IdsWithAGap", "--ids 1,,2", 1,
            "--ids: expected token ids such as 1,2,3"},
    Refusal{"IdsWithCommaAtTheEnd", "--ids 1,2,", 1,
            "--ids: expected token ids such as 1,2,3"},
    Refusal{"IdsWithCommaAhead", "--ids ,1", 1,
            "--ids: expected token ids such as 1,2,3"},
    Refusal{"IdOutsideTheVocabulary", "--ids 99", 1,
            "prompt 0: prompt token 0 is 99, outside the vocabulary"},
    Refusal{"KPastTheEnvelope", "--ids 1 --k 7", 1, "expected k of at most 4"},
    Refusal{"UnknownFlag", "--ids 1 --wrong", 2, "--wrong"},
    Refusal{"TemperatureNoNumber", "--ids 1 --temperature=x", 2,
            "--temperature"},
    Refusal{"UnknownFunction", "--function=@half", 1,
            "the artifact exports no function 'half'"},
    Refusal{"InputOfAnotherShape", "--function=@twice --input=3xf32=1", 1,
            "@twice: input 0: expected 4xf32, got 3xf32"},
    Refusal{"PerplexityOfOneToken", "--perplexity --ids 1", 1,
            "--perplexity: expected a text of at least"},
    Refusal{"PerplexityOutsideTheVocabulary", "--perplexity --ids 1,99", 1,
            "prompt 0: expected token ids of 0 to"},
    Refusal{"WindowPastTheContext", "--perplexity --ids 1,2 --window 97", 1,
            "expected --window of 2 to 96 (the envelope's context), got 97"},
    Refusal{"PerplexityAndFunction", "--perplexity --function=@twice", 2,
            "expected --perplexity or --function, got both"},
    Refusal{"PromptFileMissing", "--prompt-file /nowhere", 1,
            "--prompt-file /nowhere: cannot open"},
    Refusal{"PromptWithFunction",
            "--function=@twice --input=4xf32=1 --prompt x", 2,
            "expected no --prompt with --function"},
    Refusal{"StatsWithFunction", "--function=@twice --input=4xf32=1 --stats", 2,
            "expected no --stats with --function"},
    Refusal{"InputWithoutFunction", "--ids 1 --input 4xf32=1", 2,
            "expected no --input without --function"},
    Refusal{"ToleranceWithoutFunction", "--ids 1 --tolerance 1", 2,
            "expected no --tolerance without --function"},
    Refusal{"WindowWithoutPerplexity", "--ids 1 --window 5", 2,
            "expected no --window without --perplexity"},
    Refusal{"KWithPerplexity", "--ids 1,2 --perplexity -k 0", 2,
            "expected no --k with --perplexity"},
    Refusal{"PrintIdsWithPerplexity", "--ids 1,2 --perplexity --print-ids", 2,
            "expected no --print-ids with --perplexity"},
    Refusal{"StopIdNegative", "--ids 1 --stop-id -5", 2,
            "--stop-id: expected a whole number of 0 to"},
    Refusal{"KEmpty", "--ids 1 -k ''", 2,
            "--k: expected a whole number of 0 to 4294967295, got "
            "''"},
    Refusal{"KNoNumber", "--ids 1 -k abc", 2,
            "--k: expected a whole number of 0 to 4294967295, got "
            "'abc'"},
    Refusal{"MaxTokensEmpty", "--ids 1 -n ''", 2,
            "--max-tokens: expected a whole number"},
    Refusal{"MaxTokensZero", "--ids 1 -n 0", 2,
            "expected --max-tokens of 1 or more, got 0"},
    Refusal{"ThreadsEmpty", "--ids 1 -t ''", 2,
            "--threads: expected a whole number"},
    Refusal{"TemperatureEmpty", "--ids 1 --temperature ''", 2,
            "--temperature: expected a number, got ''"},
    Refusal{"KTwice", "--ids 1 -k 1 -k 2", 2,
            "--k: expected once, got 2 times"},
    Refusal{"MaxBatchByTwoNames", "--ids 1 --max-batch 1 --max-slots 1", 2,
            "--max-batch: expected once"},
    Refusal{"KWithoutValue", "--ids 1 -k", 2, "expected a value for "},
    Refusal{"MaxSlotsNoNumber", "--ids 1 --max-slots x", 2,
            "--max-batch: expected a whole number"}};

INSTANTIATE_TEST_SUITE_P(Flags, MtpRunRefuses, testing::ValuesIn(kRefusals),
                         [](const testing::TestParamInfo<Refusal> &info) {
                           return std::string(info.param.name);
                         });

TEST(MtpRun, NamesAFileThatIsNoArtifact) {
  EXPECT_EQ(runTool(MTP_RUN_TOOL, "/etc/passwd --ids 1").output,
            "mtp-run: error: /etc/passwd: not an mtpc artifact: expected the "
            "file to start with 'MTPC'\n");
}

TEST(MtpRun, ReadsNumbers) {
  EXPECT_EQ(run("--ids '1, 2  3' -n 1").status, 0);
  // A number with a leading zero is not octal.
  EXPECT_EQ(run("--ids 1 -n 010").output, run("--ids 1 -n 10").output);
  EXPECT_EQ(run("--ids 1 -n 3 --max-slots 2").status, 0);
  EXPECT_NE(run("--ids 1 --stop-id 9999")
                .output.find("expected --stop-id of 0 "
                             "to "),
            std::string::npos);
}

// The second sequence ends before the first, and is printed after it.
TEST(MtpRun, PrintsABatchInOrder) {
  auto outputOf = [](std::vector<int32_t> prompt) {
    Request r;
    r.prompt = std::move(prompt);
    r.maxTokens = 30;
    return expectedOutput(r).tokens;
  };
  std::vector<int32_t> first = outputOf({3, 1, 4}), second = outputOf({5, 6});
  auto isNew = [&](int32_t token) {
    return std::find(first.begin(), first.end(), token) == first.end();
  };
  auto stop = std::find_if(second.begin(), second.end(), isNew);
  ASSERT_NE(stop, second.end());
  Ran ran =
      run("--ids 3,1,4 --ids 5,6 -n 30 --stop-id " + std::to_string(*stop));
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output.find("--- prompt 0\n"), 0u) << ran.output;
  EXPECT_NE(ran.output.find("--- prompt 1\n"), std::string::npos) << ran.output;
}

namespace {
/// Flags, and the name of their test.
struct Flags {
  const char *name, *flags;
};

class MtpRunLoses : public testing::TestWithParam<Flags> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(
    Output, MtpRunLoses,
    testing::Values(Flags{"Text", "--ids 1 -n 3"},
                    Flags{"Json", "--ids 1 -n 3 --json"},
                    Flags{"Batch", "--ids 1 --ids 2 -n 3"},
                    Flags{"Perplexity", "--ids 1,2 --perplexity"},
                    Flags{"Function", "--function=@twice --input=4xf32=1"},
                    Flags{"Help", "--help"}, Flags{"Version", "--version"}),
    [](const testing::TestParamInfo<Flags> &info) {
      return std::string(info.param.name);
    });

TEST_P(MtpRunLoses, AndSaysSo) {
  Ran ran = runTool("sh -c '" MTP_RUN_TOOL " " + artifact() + " " +
                        GetParam().flags + " > /dev/full'",
                    "");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_NE(ran.output.find(" to standard output: No space left on device"),
            std::string::npos)
      << ran.output;
}

TEST(MtpDump, SaysWhenItsOutputIsLost) {
  Ran ran =
      runTool("sh -c '" MTP_DUMP_TOOL " " + artifact() + " > /dev/full'", "");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "mtp-dump: error: cannot write the listing to standard "
                        "output: No space left on device\n");
}

TEST(MtpRun, PrintsFunctionsAsJson) {
  Ran ran = run("--function=@twice --input='4xf32=[1, 2, inf, 4]' --json");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "{\n  \"function\": \"twice\",\n  \"results\": [\n"
                        "    {\n      \"type\": \"4xf32\",\n      \"value\": "
                        "[2, 4, null, 8]\n    }\n  ]\n}\n");
}

TEST(MtpRun, StoresResultsWholeOrNotAtAll) {
  std::string path = writeFile("old.npy", {'o', 'l', 'd'});
  std::string twice = "--function=@twice --input=4xf32=1 --output ";
  EXPECT_EQ(run(twice + "@" + path).status, 0);
  EXPECT_EQ(roundTrip("@" + path), "4xf32=[2, 2, 2, 2]");
  Ran ran = run(twice + "@/nowhere/x.npy");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("--output 0: cannot write '/nowhere/x.npy': No such"
                            " file or directory"),
            std::string::npos)
      << ran.output;
  ran = run(twice + "@" + artifact());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("expected an output unlike "), std::string::npos)
      << ran.output;
  std::remove(path.c_str());
}

// Statistics without rounds have no rates.
TEST(MtpRun, ReportsARunOfOneToken) {
  Ran ran = run("--ids 3,1,4 -n 1 --stats");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output.find("nan"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("decode: 0 tokens in no round"), std::string::npos)
      << ran.output;
}

TEST(MtpRun, HelpsAndNamesItsVersion) {
  EXPECT_EQ(run("--version").output, "mtp-run 0.1.0\n");
  EXPECT_EQ(runTool(MTP_DUMP_TOOL, "--version").output, "mtp-dump 0.1.0\n");
  Ran help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.output.find("\nExamples:\n"), std::string::npos);
  EXPECT_EQ(help.output.find("--max-slots"), std::string::npos);
}

TEST(MtpRun, LinksNothingOfTheCompiler) {
  Ran ran = runTool("ldd", MTP_RUN_TOOL);
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.output.find("LLVM"), std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find("MLIR"), std::string::npos) << ran.output;
}

TEST(MtpDump, PrintsEverything) {
  Ran ran = runTool(MTP_DUMP_TOOL, artifact());
  EXPECT_EQ(ran.status, 0);
  for (const char *line :
       {"producer ArtifactBuilder\n", "envelope k 4, batch 4, context 96",
        "state window: 4x5xi32, rebuild rows 1\n",
        "kernel mtp.sample (mtp.sample) builtin: ",
        "program decode_b3_k2 (decode): batch 3, k 2", "segment 0: Image, "})
    EXPECT_NE(ran.output.find(line), std::string::npos) << ran.output;
  ran = runTool(MTP_DUMP_TOOL, artifact() + " --program=decode_b1_k0");
  EXPECT_NE(ran.output.find("1  append (append)  tasks 1  params [1, 24, 4]\n"),
            std::string::npos)
      << ran.output;
  ran = runTool(MTP_DUMP_TOOL, artifact() + " --json --commands");
  EXPECT_NE(ran.output.find("\"commands\": ["), std::string::npos);
  ran = runTool(MTP_DUMP_TOOL, artifact() + " --commands");
  EXPECT_EQ(ran.status, 2) << ran.output;
  ran = runTool(MTP_DUMP_TOOL, artifact() + " --program=decode_b1_k0 --json");
  EXPECT_EQ(ran.status, 2) << ran.output;
  ran = runTool(MTP_DUMP_TOOL, artifact() + " --program=none");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "mtp-dump: error: --program: the artifact has no "
                        "program 'none'\n");
}

TEST(MtpDump, PrintsRangesAndPlans) {
  FakeOptions fake;
  fake.hasRanges = fake.hasAudit = true;
  ArtifactBuilder a = makeFakeModel(fake);
  a.otherPlans = {{"test", 0}};
  std::string path = writeFile("ranges.bin", a.finish());
  Ran ran = runTool(MTP_DUMP_TOOL, path);
  EXPECT_EQ(ran.status, 0);
  for (const char *line :
       {"places ahead 1\n", "target test, ", "target x86_64, ",
        "state history: 4x96xi32, init -1.000000, rebuild tokens\n",
        "state active: 4xi32, shared\n",
        "program decode_b3_k2 (decode): batch 3 to 4, k 2, ",
        "program prefill_c1_m1 (prefill): rows 1 to 8, sequences 1, drafts, "})
    EXPECT_NE(ran.output.find(line), std::string::npos) << line << ran.output;
  ran = runTool(MTP_DUMP_TOOL, path + " --program=decode_b3_k0");
  for (const char *line :
       {"1  append (append)  tasks 3 to 4  params [n, 24, 4]",
        "arena[64n, +4n]", "output picks: nxi32 in arena["})
    EXPECT_NE(ran.output.find(line), std::string::npos) << line << ran.output;
  ran = runTool(MTP_DUMP_TOOL, path + " --program=prefill_c1_m1");
  EXPECT_NE(ran.output.find(" solo from 3"), std::string::npos) << ran.output;
  ran = runTool(MTP_DUMP_TOOL, path + " --json --commands");
  for (const char *line :
       {"\"tasks\": \"3 to 4\"", "\"begin\": 3", "\"rebuild\": \"tokens\"",
        "\"params\": [", "\"arch\": \"test\""})
    EXPECT_NE(ran.output.find(line), std::string::npos) << line;
}

TEST(MtpDump, PrintsPlansForGpus) {
  FakeOptions fake;
  fake.hasRanges = true;
  ArtifactBuilder a = makeFakeModel(fake);
  planForGpu(a, false);
  a.kernels[1].launch = {128, 4096};
  std::string path = writeFile("gpu.bin", a.finish());
  Ran ran = runTool(MTP_DUMP_TOOL, path);
  EXPECT_EQ(ran.status, 0);
  for (const char *line : {"target nvptx, cpu sm_90,",
                           ", contract, 128 threads, 4096 bytes shared",
                           "image 0: cubin in segment 0, ptx in segment 0\n"})
    EXPECT_NE(ran.output.find(line), std::string::npos) << line << ran.output;
  ran = runTool(MTP_DUMP_TOOL, path + " --json");
  for (const char *line : {"\"format\": \"cubin\"", "\"ptx_segment\": 0",
                           "\"threads\": 128", "\"shared_bytes\": 4096"})
    EXPECT_NE(ran.output.find(line), std::string::npos) << line << ran.output;
}
