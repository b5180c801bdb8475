//===- start_test.cpp - From a model's files to an artifact ---------------===//

#include "tools/start/Child.h"
#include "tools/start/Format.h"
#include "tools/start/ModelFiles.h"
#include "tools/start/StartModel.h"
#include "tools/start/Words.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace mtp;
using namespace mtp::start;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

static Words words(std::string_view text) {
  auto words = splitWords(text);
  EXPECT_TRUE(words.isOk()) << words.status().message();
  return words.isOk() ? *words : Words();
}

static std::string wordsError(std::string_view text) {
  auto words = splitWords(text);
  return words.isOk() ? "" : std::string(words.status().message());
}

TEST(SplitWords, SplitsAsAShellDoes) {
  EXPECT_EQ(words(""), Words());
  EXPECT_EQ(words("  \t\n "), Words());
  EXPECT_EQ(words(" -k 5  --before=lookup\n"),
            (Words{"-k", "5", "--before=lookup"}));
  EXPECT_EQ(words("a'b c'd \"e f\"\"g\""), (Words{"ab cd", "e fg"}));
  EXPECT_EQ(words("'' a \"\""), (Words{"", "a", ""}));
  EXPECT_EQ(words("a\\ b \\' \\\"c"), (Words{"a b", "'", "\"c"}));
  EXPECT_EQ(words("\"a\\\"b\\\\c\\d\""), (Words{"a\"b\\c\\d"}));
  EXPECT_EQ(words("'a\\b'"), (Words{"a\\b"}));
  EXPECT_EQ(words("a\\\nb"), (Words{"ab"}));
}

TEST(SplitWords, ExpandsNothing) {
  EXPECT_EQ(words("$HOME `ls` $(ls) * ~ ; | & > x # y \"$a\""),
            (Words{"$HOME", "`ls`", "$(ls)", "*", "~", ";", "|", "&", ">", "x",
                   "#", "y", "$a"}));
}

TEST(SplitWords, NamesWhatHasNoEnd) {
  EXPECT_EQ(wordsError("a 'b"), "expected a second ' in 'a 'b'");
  EXPECT_EQ(wordsError("a \"b'"), "expected a second \" in 'a \"b''");
  EXPECT_EQ(wordsError("a\\"),
            "expected a character after the last \\ of 'a\\'");
}

namespace {

class ModelFilesTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name =
        (fs::temp_directory_path() / "mtp-start-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  std::string write(const std::string &name) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << name;
    return (root / name).string();
  }

  static Words names(const std::vector<ModelFile> &files) {
    Words names;
    for (const ModelFile &file : files)
      names.push_back(file.name);
    return names;
  }

  fs::path root;
};

} // namespace

TEST_F(ModelFilesTest, AFolderHasAllThatAnImportMayRead) {
  for (const char *name :
       {"m/config.json", "m/model.safetensors", "m/tokenizer.model",
        "m/additional_chat_templates/tool.jinja", "m/tokenization.py",
        "m/pytorch_model.bin", "m/README.md", "m/.git/config", "m/.hidden"})
    write(name);
  fs::create_directory_symlink(root / "m", root / "m" / "loop");
  fs::create_symlink(write("blob"), root / "m" / "linked.safetensors");
  Words found = names(listModelFiles((root / "m").string()));
  EXPECT_EQ(Words(found.begin(), found.begin() + 3),
            (Words{"additional_chat_templates/tool.jinja", "config.json",
                   "linked.safetensors"}));
  for (const char *name : {"model.safetensors", "tokenizer.model",
                           "tokenization.py", "loop/config.json"})
    EXPECT_EQ(std::ranges::count(found, name), 1) << name;
  for (const std::string &name : found) {
    EXPECT_FALSE(name.ends_with(".md")) << name;
    EXPECT_FALSE(name.ends_with(".bin")) << name;
    EXPECT_EQ(name.find("/."), name.npos) << name;
  }
}

TEST_F(ModelFilesTest, APartOfASetBringsTheOthers) {
  std::string one = write("a-00001-of-00003.gguf");
  for (const char *name :
       {"a-00002-of-00003.gguf", "a-00003-of-00003.gguf",
        "b-00001-of-00003.gguf", "a-00001-of-0003.gguf", "a.gguf"})
    write(name);
  EXPECT_EQ(names(listModelFiles(one)),
            (Words{"a-00001-of-00003.gguf", "a-00002-of-00003.gguf",
                   "a-00003-of-00003.gguf"}));
  // The name of a single file does not matter.
  EXPECT_EQ(names(listModelFiles((root / "a.gguf").string())), Words{""});
}

TEST_F(ModelFilesTest, WordsNameFiles) {
  std::string list = write("list"), tree = write("tree,1");
  std::vector<ModelFile> files;
  appendNamedFiles({"--draft-vocab=" + list + ",size=5", "--draft-tree", tree,
                    "-k", "5", "--before=lookup:2,3", "", "--x=", "=,"},
                   files);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, list);
  EXPECT_EQ(files[1].path, tree);
}

TEST_F(ModelFilesTest, AStampTellsAChange) {
  std::vector<ModelFile> files = {{write("a"), "a"}, {"/none", "b"}};
  auto before = stampsOf(files);
  EXPECT_EQ(stampsOf(files), before);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  write("a");
  EXPECT_NE(stampsOf(files), before);
}

TEST(RunChild, GivesTheEndAndTheLines) {
  std::string text;
  auto take = [&](const std::string &line) { text += "<" + line; };
  auto end =
      runChild({"/bin/sh", "-c", "echo a; echo b >&2; printf c; exit 3"}, take);
  ASSERT_TRUE(end.isOk());
  EXPECT_EQ(end->status, 3);
  EXPECT_EQ(text, "<a\n<b\n<c\n");
  // Standard input is empty.
  end = runChild({"/bin/cat"}, take);
  ASSERT_TRUE(end.isOk());
  EXPECT_EQ(end->status, 0);
  end = runChild({"/bin/sh", "-c", "kill -9 $$"}, take);
  ASSERT_TRUE(end.isOk());
  EXPECT_EQ(end->signal, SIGKILL);
}

TEST(RunChild, SaysThatAProgramCannotStart) {
  auto end = runChild({"/none/program"}, nullptr);
  ASSERT_FALSE(end.isOk());
  EXPECT_EQ(end.status().message(),
            "cannot start /none/program: No such file or directory");
}

TEST(RunChild, PassesAnInterruptOn) {
  pid_t self = ::getpid();
  auto take = [&](const std::string &) { ::kill(self, SIGTERM); };
  auto end = runChild({"/bin/sh", "-c", "echo ready; exec sleep 60"}, take);
  ASSERT_TRUE(end.isOk());
  EXPECT_EQ(end->interrupt, SIGTERM);
  EXPECT_EQ(end->signal, SIGTERM);
  // The child ignores the first signal; the second one kills it.
  end = runChild(
      {"/bin/sh", "-c", "trap '' TERM; echo a; echo b; exec sleep 60"}, take);
  ASSERT_TRUE(end.isOk());
  EXPECT_EQ(end->signal, SIGKILL);
}

TEST(FindProgram, SearchesThePath) {
  EXPECT_NE(findProgram("sh"), "");
  EXPECT_EQ(findProgram("no-such-program"), "");
}

TEST(Format, IsForPeople) {
  EXPECT_EQ(sizeText(191000000), "191.0 MB");
  EXPECT_EQ(sizeText(4700000000), "4.7 GB");
  EXPECT_EQ(dateText(0).substr(0, 2), "19");
}
