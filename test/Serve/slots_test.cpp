//===- slots_test.cpp - Prefixes that clients save ------------------------===//

#include "RoutesRig.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::test;
using namespace mtp::serve;

namespace {

const char *const kPrompt =
    R"("prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])";

std::string freshFolder(const char *name) {
  std::string folder = testing::TempDir() + "/" + name;
  ::mkdir(folder.c_str(), 0700);
  for (const char *file : {"a", "b", "bad"})
    ::unlink((folder + "/" + file).c_str());
  return folder;
}

ServerOptions optionsOf(const std::string &folder, uint64_t bytes = 1 << 30) {
  ServerOptions options;
  options.slotFolder = folder;
  options.slotFolderBytes = bytes;
  return options;
}

HttpReply act(RoutesRig &rig, const char *action, const std::string &body,
              const char *path = "/slots/0") {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.query = std::string("action=") + action;
  request.contentType = "application/json";
  request.body = body;
  request.id = "id";
  return rig.send(std::move(request)).reply;
}

std::string complete(RoutesRig &rig) {
  return rig.complete(std::string("{\"max_tokens\": 8, ") + kPrompt + "}");
}

/// Returns the ids of an answer.
std::string textOf(const std::string &answer) {
  size_t at = answer.find("\"token_ids\"");
  return answer.substr(at, answer.find(']', at) - at);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST(Slots, AnotherServerGoesOnWithASavedPrefix) {
  std::string folder = freshFolder("slots");
  std::string before;
  std::string saved = std::string("{\"filename\": \"a\", ") + kPrompt + "}";
  {
    RoutesRig rig(64, optionsOf(folder));
    EXPECT_EQ(act(rig, "save", saved).status, 404u) << "nothing is cached";
    before = complete(rig);
    HttpReply reply = act(rig, "save", saved, "/slots/3");
    EXPECT_EQ(reply.status, 200u) << reply.body;
    EXPECT_TRUE(has(reply.body, "\"id_slot\": 3")) << reply.body;
    EXPECT_TRUE(has(reply.body, "\"filename\": \"a\"")) << reply.body;
    EXPECT_TRUE(has(reply.body, "\"n_saved\": 12")) << reply.body;
    EXPECT_TRUE(has(reply.body, "\"save_ms\": ")) << reply.body;
  }
  RoutesRig rig(64, optionsOf(folder));
  HttpReply reply = act(rig, "restore", R"({"filename": "a"})");
  EXPECT_EQ(reply.status, 200u) << reply.body;
  EXPECT_TRUE(has(reply.body, "\"n_restored\": 12")) << reply.body;
  std::string after = complete(rig);
  EXPECT_TRUE(has(after, "\"cached_tokens\": 12")) << after;
  EXPECT_FALSE(has(before, "\"cached_tokens\": 12")) << before;
  EXPECT_EQ(textOf(before), textOf(after));
  // Erased from the cache, and then from the folder.
  reply = act(rig, "erase", std::string("{") + kPrompt + "}");
  EXPECT_TRUE(has(reply.body, "\"n_erased\": ")) << reply.body;
  EXPECT_TRUE(has(complete(rig), "\"cached_tokens\": 0"));
  EXPECT_EQ(act(rig, "erase", R"({"filename": "a"})").status, 200u);
  EXPECT_EQ(act(rig, "erase", R"({"filename": "a"})").status, 404u);
  EXPECT_EQ(act(rig, "restore", R"({"filename": "a"})").status, 404u);
}

TEST(Slots, RefusesByName) {
  std::string folder = freshFolder("slots-refused");
  RoutesRig rig(64, optionsOf(folder));
  complete(rig);
  std::string good = std::string("{\"filename\": \"a\", ") + kPrompt + "}";
  struct {
    const char *action, *path;
    std::string body;
    unsigned status;
    const char *part;
  } cases[] = {
      {"save", "/slots/4", good, 400, "expected a slot from 0 to 3"},
      {"save", "/slots/x", good, 400, "got 'x'"},
      {"load", "/slots/0", good, 400, "got 'load'"},
      {"", "/slots/0", good, 400, "\"param\": \"action\""},
      {"save", "/slots/0", "{", 400, "JSON"},
      {"save", "/slots/0", R"({"filename": "a"})", 400, "'prompt'"},
      {"save", "/slots/0", std::string("{") + kPrompt + "}", 400, "'filename'"},
      {"restore", "/slots/0", "{}", 400, "'filename'"},
      {"erase", "/slots/0", "", 400, "got neither"},
      {"restore", "/slots/0", R"({"filename": "../a"})", 400, "plain"},
      {"restore", "/slots/0", R"({"filename": ".a"})", 400, "plain"},
      {"restore", "/slots/0", R"({"filename": "a/b"})", 400, "plain"},
      {"restore", "/slots/0", R"({"filename": 5})", 400, "filename"},
      {"save", "/slots/0", R"({"filename": "a", "prompt": [1, 99]})", 400,
       "prompt"},
      {"save", "/slots/0", R"({"filename": "a", "prompt": [[1], [2]]})", 400,
       "one prompt"},
  };
  for (const auto &c : cases) {
    HttpReply reply = act(rig, c.action, c.body, c.path);
    EXPECT_EQ(reply.status, c.status) << c.body << reply.body;
    EXPECT_TRUE(has(reply.body, c.part)) << c.body << reply.body;
  }
  EXPECT_EQ(rig.ask("GET", "/slots/0").reply.status, 405u);
  RoutesRig without;
  EXPECT_EQ(act(without, "save", good).status, 501u);
}

TEST(Slots, SaltsSeparate) {
  std::string folder = freshFolder("slots-salts");
  RoutesRig rig(64, optionsOf(folder));
  complete(rig);
  std::string saved = std::string("{\"filename\": \"a\", ") + kPrompt;
  EXPECT_EQ(act(rig, "save", saved + R"(, "cache_salt": "s"})").status, 404u);
  EXPECT_EQ(act(rig, "save", saved + "}").status, 200u);
  HttpReply reply =
      act(rig, "restore", R"({"filename": "a", "cache_salt": "s"})");
  EXPECT_EQ(reply.status, 400u);
  EXPECT_TRUE(has(reply.body, "salt")) << reply.body;
  reply = act(rig, "restore", R"({"filename": "a", "prompt": [5, 6]})");
  EXPECT_EQ(reply.status, 400u);
  EXPECT_TRUE(has(reply.body, "beginning")) << reply.body;
}

TEST(Slots, TheFolderIsBoundedAndItsFilesAreChecked) {
  std::string folder = freshFolder("slots-bounded");
  RoutesRig rig(64, optionsOf(folder, 6000));
  complete(rig);
  std::string rest = std::string("\", ") + kPrompt + "}";
  HttpReply reply = act(rig, "save", "{\"filename\": \"a" + rest);
  ASSERT_EQ(reply.status, 200u) << reply.body;
  // A file may replace itself.
  EXPECT_EQ(act(rig, "save", "{\"filename\": \"a" + rest).status, 200u);
  for (int i = 0; i < 20 && reply.status == 200; ++i)
    reply = act(rig, "save", "{\"filename\": \"b" + std::to_string(i) + rest);
  EXPECT_EQ(reply.status, 507u) << reply.body;
  std::ofstream(folder + "/bad") << "no prefix at all";
  reply = act(rig, "restore", R"({"filename": "bad"})");
  EXPECT_EQ(reply.status, 400u) << reply.body;
  EXPECT_FALSE(has(reply.body, folder)) << reply.body;
  EXPECT_TRUE(has(complete(rig), "token_ids"));
}
