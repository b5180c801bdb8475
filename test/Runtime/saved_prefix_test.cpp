//===- saved_prefix_test.cpp - Prefixes that outlive their session --------===//

#include "mtp/saved_prefix.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/saved/PrefixFile.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::test;

/// Whether the disk is broken.
static bool diskFails = false;

/// Takes the place of the C library's function.
extern "C" int fsync(int file) {
  if (diskFails) {
    errno = EIO;
    return -1;
  }
  return int(::syscall(SYS_fsync, file));
}

namespace {

/// Loads a fake model. If `isRecurrent`, one of its states is in no page.
std::shared_ptr<const Model> load(FakeOptions fake, bool isRecurrent,
                                  const char *name = "saved.bin") {
  fake.hasRanges = true;
  ArtifactBuilder a = makeFakeModel(fake);
  for (ArtifactBuilder::State &state : a.states)
    if (isRecurrent && state.name == "hidden")
      state.upkeep.rebuild = schema::Rebuild::Run;
  auto model = Model::load(writeFile(name, a.finish()));
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  return *model;
}

std::unique_ptr<Session> open(const std::shared_ptr<const Model> &model,
                              SessionOptions options = {}) {
  options.threads = 1;
  auto session = Session::create(model, options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

Request request(size_t size, uint32_t maxTokens, int32_t seed = 3) {
  Request r;
  for (size_t i = 0; i < size; ++i)
    r.prompt.push_back(int32_t((size_t(seed) * 13 + i * 7) % 64));
  r.maxTokens = maxTokens;
  return r;
}

/// Runs a request to its end; returns its statistics.
Statistics run(Session &session, const Request &r) {
  auto id = session.add(r);
  EXPECT_TRUE(id.isOk()) << id.status().toString();
  drain(session);
  EXPECT_TRUE(
      std::ranges::equal(*session.output(*id), expectedOutput(r).tokens));
  EXPECT_TRUE(session.checkInvariants().isOk());
  return *session.statistics(*id);
}

std::string pathOf(const std::string &name) {
  return testing::TempDir() + "/" + name;
}

/// Saves the prefix of a request that a session of its own has run.
std::string saveFile(const std::shared_ptr<const Model> &model,
                     const Request &r, const SessionOptions &options = {},
                     const char *name = "prefix") {
  auto session = open(model, options);
  run(*session, r);
  auto saved = SavedPrefix::save(*session, r.prompt, r.cacheSalt);
  EXPECT_TRUE(saved.isOk()) << saved.status().toString();
  std::string path = pathOf(name);
  Status status = saved->write(path);
  EXPECT_TRUE(status.isOk()) << status.toString();
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(uint64_t(info.st_size), saved->fileBytes());
  EXPECT_EQ(info.st_mode & 077, 0u);
  return path;
}

std::vector<uint8_t> contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<saved::PrefixImage> decode(std::span<const uint8_t> bytes) {
  size_t at = 0;
  return saved::decode(bytes.size(), [&](std::span<uint8_t> to) {
    // The reader asks for no byte that is not there.
    EXPECT_LE(to.size(), bytes.size() - at);
    std::ranges::copy(bytes.subspan(at, to.size()), to.begin());
    at += to.size();
    return okStatus();
  });
}

} // namespace

TEST(SavedPrefix, ALaterSessionGoesOnWithIt) {
  for (bool isRecurrent : {false, true})
    for (uint32_t modules : {1u, 2u})
      for (uint32_t k : {0u, 4u}) {
        SCOPED_TRACE(testing::Message()
                     << isRecurrent << " " << modules << " " << k);
        FakeOptions fake;
        fake.modules = modules;
        auto model = load(fake, isRecurrent);
        SessionOptions options;
        options.k = k;
        options.snapshotTokens = 8;
        Request r = request(22, 12);
        std::string path = saveFile(model, r, options);
        auto session = open(model, options);
        auto saved = SavedPrefix::read(path);
        ASSERT_TRUE(saved.isOk()) << saved.status().toString();
        auto restored = saved->restore(*session);
        ASSERT_TRUE(restored.isOk()) << restored.status().toString();
        EXPECT_EQ(*restored, saved->length());
        EXPECT_GE(*restored, 16u);
        EXPECT_TRUE(session->checkInvariants().isOk());
        Statistics counted = run(*session, r);
        EXPECT_EQ(counted.cachedTokens, *restored);
        EXPECT_EQ(counted.restoredSnapshots, isRecurrent ? 1u : 0u);
        // Another end of the prompt shares what is before it.
        Request other = r;
        other.prompt.resize(17);
        other.prompt.push_back(1);
        other.prompt.push_back(2);
        EXPECT_GE(run(*session, other).cachedTokens, 8u);
      }
}

TEST(SavedPrefix, IsRestoredTwiceAndWhileSlotsAreBusy) {
  for (bool isRecurrent : {false, true}) {
    auto model = load({}, isRecurrent);
    SessionOptions options;
    options.snapshotTokens = 4;
    Request r = request(21, 8);
    std::string path = saveFile(model, r, options);
    options.maxSlots = 2;
    auto session = open(model, options);
    auto saved = SavedPrefix::read(path);
    ASSERT_TRUE(saved.isOk());
    // Both slots run, one of them with the prefix itself.
    Request other = request(9, 40, 5);
    SequenceId first = *session->add(other);
    SequenceId second = *session->add(r);
    while (session->output(second)->size() < 2)
      ASSERT_TRUE(session->step().isOk());
    for (int i = 0; i < 2; ++i) {
      auto restored = saved->restore(*session);
      ASSERT_TRUE(restored.isOk()) << restored.status().toString();
      EXPECT_GE(*restored, 16u);
      Status status = session->checkInvariants();
      EXPECT_TRUE(status.isOk()) << status.toString();
    }
    drain(*session);
    for (const auto &[id, asked] :
         {std::pair(first, other), std::pair(second, r)})
      EXPECT_TRUE(std::ranges::equal(*session->output(id),
                                     expectedOutput(asked).tokens));
    EXPECT_GE(run(*session, r).cachedTokens, 16u);
  }
}

TEST(SavedPrefix, DropsWhatNoSequenceHolds) {
  for (bool isRecurrent : {false, true}) {
    auto session = open(load({}, isRecurrent));
    Request r = request(21, 8);
    run(*session, r);
    EXPECT_GE(SavedPrefix::forget(*session, r.prompt), 16u);
    EXPECT_TRUE(session->checkInvariants().isOk());
    EXPECT_EQ(SavedPrefix::forget(*session, r.prompt), 0u);
    EXPECT_EQ(run(*session, r).cachedTokens, 0u);
    // Pages of a slot stay.
    SequenceId id = *session->add(r);
    ASSERT_TRUE(session->step().isOk());
    ASSERT_NE(*session->state(id), SequenceState::Waiting);
    SavedPrefix::forget(*session, r.prompt);
    EXPECT_TRUE(session->checkInvariants().isOk());
    drain(*session);
    EXPECT_TRUE(
        std::ranges::equal(*session->output(id), expectedOutput(r).tokens));
  }
}

TEST(SavedPrefix, NamesWhatDoesNotFit) {
  auto model = load({}, false);
  Request r = request(21, 4);
  r.cacheSalt = "salt";
  std::string path = saveFile(model, r);
  auto saved = SavedPrefix::read(path);
  ASSERT_TRUE(saved.isOk());
  auto failure = [&](const std::shared_ptr<const Model> &of,
                     const SessionOptions &options, const char *salt) {
    auto session = open(of, options);
    Status status = saved->restore(*session, salt).status();
    EXPECT_TRUE(session->checkInvariants().isOk());
    EXPECT_EQ(session->kvUsage().cachedPages, 0u);
    return status.toString();
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != text.npos;
  };
  FakeOptions fake;
  fake.eos = {7};
  std::string other = failure(load(fake, false, "other.bin"), {}, "salt");
  EXPECT_TRUE(has(other, "expected a prefix of the artifact '")) << other;
  EXPECT_TRUE(has(other, "got one of '")) << other;
  EXPECT_TRUE(has(failure(model, {}, "pepper"), "cache salt"));
  SessionOptions options;
  options.k = 0;
  EXPECT_TRUE(has(failure(model, options, "salt"), "drafts")) << "k = 0";
  options = {};
  options.kvPages = 4;
  EXPECT_TRUE(has(failure(model, options, "salt"), "KV pages"));
  options = {};
  options.prefixCache = false;
  EXPECT_TRUE(has(failure(model, options, "salt"), "shares prefixes"));
  auto session = open(model);
  EXPECT_EQ(SavedPrefix::save(*session, r.prompt).status().code(),
            StatusCode::NotFound);
  EXPECT_EQ(SavedPrefix::read(pathOf("none")).status().code(),
            StatusCode::NotFound);
  EXPECT_EQ(SavedPrefix::read(path, 100).status().code(),
            StatusCode::ResourceExhausted);
}

TEST(SavedPrefix, ReservesItsMemory) {
  uint64_t before = hostMemory().reserved();
  auto model = load({}, true);
  SessionOptions options;
  options.snapshotTokens = 4;
  std::string path = saveFile(model, request(21, 4), options);
  EXPECT_EQ(hostMemory().reserved(), before);
  {
    auto saved = SavedPrefix::read(path);
    EXPECT_GE(hostMemory().reserved(), before + saved->fileBytes());
  }
  EXPECT_EQ(hostMemory().reserved(), before);
}

// No changed byte and no cut goes unnoticed.
TEST(SavedPrefix, RefusesChangedFiles) {
  auto model = load({}, true);
  SessionOptions options;
  options.snapshotTokens = 4;
  std::vector<uint8_t> bytes =
      contentOf(saveFile(model, request(10, 4), options));
  ASSERT_TRUE(decode(bytes).isOk());
  size_t step = std::max<size_t>(1, bytes.size() / 4000);
  for (size_t i = 0; i < bytes.size(); i += i < 600 ? 1 : step) {
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[i] ^= flip;
      EXPECT_FALSE(decode(bytes).isOk()) << "byte " << i;
      bytes[i] ^= flip;
    }
    EXPECT_FALSE(decode(std::span(bytes).first(i)).isOk()) << "cut at " << i;
  }
  bytes.push_back(0);
  EXPECT_FALSE(decode(bytes).isOk());
}

TEST(SavedPrefix, ReplacesFilesAsAWhole) {
  auto model = load({}, false);
  std::string path = saveFile(model, request(21, 4), {}, "whole");
  std::vector<uint8_t> before = contentOf(path);
  auto session = open(model);
  Request longer = request(60, 4);
  run(*session, longer);
  auto saved = SavedPrefix::save(*session, longer.prompt);
  ASSERT_TRUE(saved.isOk());
  // As if the disk were full.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = saved->write(path);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted) << status.toString();
  EXPECT_EQ(contentOf(path), before);
  diskFails = true;
  status = saved->write(path);
  diskFails = false;
  EXPECT_EQ(status.message(),
            path + ": writing a saved prefix failed: Input/output error");
  EXPECT_EQ(contentOf(path), before);
  EXPECT_TRUE(saved->write(path).isOk());
  EXPECT_EQ(contentOf(path).size(), saved->fileBytes());
  EXPECT_EQ(saved->write(pathOf("missing/x")).code(), StatusCode::NotFound);
}

TEST(SavedPrefix, FollowsNoLinksAndWaitsForNoPipe) {
  std::string target = saveFile(load({}, false), request(21, 4), {}, "target");
  std::string link = pathOf("link"), pipe = pathOf("pipe");
  ::unlink(link.c_str());
  ::unlink(pipe.c_str());
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path : {link, pipe}) {
    EXPECT_FALSE(SavedPrefix::read(path).isOk()) << path;
    EXPECT_FALSE(saved::removeFile(path).isOk()) << path;
  }
  EXPECT_TRUE(saved::removeFile(target).isOk());
  EXPECT_EQ(saved::removeFile(target).code(), StatusCode::NotFound);
}

// A folder may have files of others, whose names a client may guess.
TEST(SavedPrefix, ReplacesAndRemovesOnlySavedPrefixes) {
  std::string target = saveFile(load({}, false), request(21, 4), {}, "prefix");
  auto prefix = SavedPrefix::read(target);
  ASSERT_TRUE(prefix.isOk()) << prefix.status().toString();
  for (std::string content : {"", "MTPART", "a file of another kind"}) {
    std::string other = pathOf("other");
    std::ofstream(other) << content;
    EXPECT_EQ(prefix->write(other).code(), StatusCode::InvalidArgument);
    EXPECT_EQ(saved::removeFile(other).code(), StatusCode::InvalidArgument);
    auto left = contentOf(other);
    EXPECT_EQ(std::string(left.begin(), left.end()), content);
    ::unlink(other.c_str());
  }
  EXPECT_TRUE(prefix->write(target).isOk());
}

TEST(SavedPrefix, NamesArePlain) {
  for (const char *name : {"a", "chat 1.bin", "a..b", "\xc3\xa4"})
    EXPECT_TRUE(saved::isPlainName(name)) << name;
  for (const char *name : {"", ".", "..", ".a", "a/b", "../a", "a\\b", "a\nb"})
    EXPECT_FALSE(saved::isPlainName(name)) << name;
  EXPECT_FALSE(saved::isPlainName(std::string(129, 'a')));
  EXPECT_FALSE(saved::isPlainName(std::string("a\0b", 3)));
}

TEST(SavedPrefix, CountsFoldersAndRemovesLeftovers) {
  std::string folder = pathOf("folder");
  ::mkdir(folder.c_str(), 0700);
  for (const char *name : {"a", "b", ".saving.0123"})
    std::ofstream(folder + "/" + name) << "12345";
  EXPECT_EQ(*saved::folderBytes(folder, ""), 15u);
  EXPECT_EQ(*saved::folderBytes(folder, "a"), 10u);
  timespec old[2] = {{1000, 0}, {1000, 0}};
  ::utimensat(AT_FDCWD, (folder + "/.saving.0123").c_str(), old, 0);
  EXPECT_EQ(*saved::folderBytes(folder, ""), 10u);
  EXPECT_EQ(::access((folder + "/.saving.0123").c_str(), F_OK), -1);
  EXPECT_FALSE(saved::folderBytes(folder + "/none", "").isOk());
}
