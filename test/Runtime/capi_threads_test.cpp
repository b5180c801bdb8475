//===- capi_threads_test.cpp - The C interface from several threads -------===//

#include "mtp/mtp.h"
#include "support/FakeModel.h"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

using namespace mtp;
using namespace mtp::test;

namespace {

/// The results of one thread's steps, for the threads that requested them.
class Outputs {
public:
  static void take(void *user, const mtp_update *update) {
    Outputs &self = *static_cast<Outputs *>(user);
    std::lock_guard lock(self.mutex);
    std::vector<int32_t> &tokens = self.given[update->id];
    tokens.insert(tokens.end(), update->tokens, update->tokens + update->count);
    if (update->finish != MTP_RUNNING)
      self.ended[update->id] = update->finish;
    self.changed.notify_all();
  }
  std::vector<int32_t> of(uint64_t id) {
    std::lock_guard lock(mutex);
    return given[id];
  }
  void awaitToken(uint64_t id) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !given[id].empty(); });
  }
  mtp_finish awaitEnd(uint64_t id) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended.count(id) > 0; });
    return ended[id];
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, std::vector<int32_t>> given;
  std::map<uint64_t, mtp_finish> ended;
};

/// A session with a thread of its own that steps it, and sleeps if there is
/// nothing to do.
class Stepped {
public:
  Stepped() {
    std::string path = writeFile("threads.bin", makeFakeModel({}).finish());
    EXPECT_EQ(mtp_model_load(path.c_str(), &model), MTP_OK) << mtp_message();
    mtp_session_options options;
    mtp_session_options_init(&options);
    options.threads = 1;
    // Sequences preempt each other.
    options.kv_pages = 30;
    EXPECT_EQ(mtp_session_create(model, &options, &session), MTP_OK)
        << mtp_message();
    runner = std::thread([this] {
      while (!ends) {
        mtp_session_wait(session, INFINITY);
        EXPECT_EQ(mtp_session_step(session, Outputs::take, &outputs), MTP_OK);
      }
    });
  }
  ~Stepped() {
    ends = true;
    mtp_session_wake(session);
    runner.join();
    EXPECT_EQ(mtp_session_idle(session), 1);
    mtp_session_free(session);
    mtp_model_free(model);
  }

  mtp_model *model = nullptr;
  mtp_session *session = nullptr;
  Outputs outputs;

private:
  std::atomic<bool> ends = false;
  std::thread runner;
};

Request requestOf(int32_t number) {
  Request r;
  for (int32_t i = 0; i < 6 + 5 * (number % 3); ++i)
    r.prompt.push_back((number * 11 + i * 7) % 64);
  r.maxTokens = 20;
  r.sampling.temperature = number % 2 ? 0.9f : 0;
  r.sampling.seed = uint64_t(number);
  return r;
}

uint64_t submit(mtp_session *session, const Request &asked) {
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = asked.prompt.data();
  request.prompt_count = asked.prompt.size();
  request.max_tokens = asked.maxTokens;
  request.temperature = asked.sampling.temperature;
  request.seed = asked.sampling.seed;
  request.k = int32_t(asked.prompt[0] % 5);
  uint64_t id = 0;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  return id;
}

bool hasEnded(mtp_session *session, uint64_t id) {
  mtp_sequence_state state = MTP_SEQUENCE_WAITING;
  EXPECT_EQ(mtp_session_get_state(session, id, &state), MTP_OK);
  return state == MTP_SEQUENCE_ENDED;
}

/// Checks that a message belongs to its own thread, whatever other threads do.
void expectOwnMessage(mtp_session *session, uint64_t thread) {
  uint64_t none = 1000000 + thread;
  EXPECT_EQ(mtp_session_pause(session, none), MTP_NOT_FOUND);
  std::this_thread::yield();
  EXPECT_NE(std::string(mtp_message()).find(std::to_string(none)),
            std::string::npos)
      << mtp_message();
}

/// Makes requests again and again, and pauses, waits or cancels.
void ask(Stepped &stepped, int32_t thread) {
  mtp_session *session = stepped.session;
  for (int32_t turn = 0; turn < 24; ++turn) {
    Request asked = requestOf(thread * 24 + turn);
    std::vector<int32_t> whole = expectedOutput(asked).tokens;
    uint64_t id = submit(session, asked);
    if (turn % 3 == 0)
      for (int i = 0; !hasEnded(session, id); ++i)
        EXPECT_EQ(i % 2 ? mtp_session_resume(session, id)
                        : mtp_session_pause(session, id),
                  MTP_OK);
    if (turn % 3 == 1) {
      if (turn % 2)
        stepped.outputs.awaitToken(id);
      EXPECT_EQ(mtp_session_cancel(session, id), MTP_OK);
      EXPECT_TRUE(hasEnded(session, id));
    } else {
      EXPECT_EQ(stepped.outputs.awaitEnd(id), MTP_LENGTH);
      EXPECT_EQ(stepped.outputs.of(id), whole);
    }
    expectOwnMessage(session, uint64_t(thread));
    mtp_statistics statistics;
    mtp_statistics_init(&statistics);
    EXPECT_EQ(mtp_session_get_sequence_statistics(session, id, &statistics),
              MTP_OK);
    EXPECT_EQ(mtp_session_release(session, id), MTP_OK) << mtp_message();
    // The tokens of a cancelled sequence begin the whole output.
    std::vector<int32_t> given = stepped.outputs.of(id);
    ASSERT_LE(given.size(), whole.size());
    whole.resize(given.size());
    EXPECT_EQ(given, whole);
  }
}

/// Reads an output. Another thread may release it meanwhile, and the tokens are
/// for that thread.
void expectOutputOrNone(mtp_session *session, uint64_t id) {
  const int32_t *tokens = nullptr;
  size_t count = 0;
  mtp_finish finish = MTP_RUNNING;
  mtp_status status =
      mtp_session_get_output(session, id, &tokens, &count, &finish);
  EXPECT_TRUE(status == MTP_OK || status == MTP_NOT_FOUND) << mtp_message();
  EXPECT_LE(count, 20u);
}

/// Reads all counts of a session until `ends` is set.
void watch(mtp_session *session, const std::atomic<bool> &ends) {
  uint64_t last = 0;
  while (!ends) {
    mtp_statistics statistics;
    mtp_statistics_init(&statistics);
    EXPECT_EQ(mtp_session_get_statistics(session, &statistics), MTP_OK);
    EXPECT_GE(statistics.output_tokens, last);
    last = statistics.output_tokens;
    uint64_t drafted[4] = {}, accepted[4] = {}, rounds[5] = {};
    size_t count = 0;
    EXPECT_EQ(
        mtp_session_get_acceptance(session, 0, drafted, accepted, 4, &count),
        MTP_OK);
    EXPECT_EQ(count, 4u);
    for (size_t i = 0; i < count; ++i)
      EXPECT_LE(accepted[i], drafted[i]);
    EXPECT_EQ(mtp_session_get_rounds(session, 0, rounds, 5, &count), MTP_OK);
    EXPECT_EQ(count, 5u);
    mtp_memory_usage usage;
    mtp_memory_usage_init(&usage);
    EXPECT_EQ(mtp_session_get_memory_usage(session, &usage), MTP_OK);
    EXPECT_EQ(usage.free_pages + usage.cached_pages + usage.held_pages, 29u);
    mtp_sequence_counts counts;
    mtp_sequence_counts_init(&counts);
    EXPECT_EQ(mtp_session_get_counts(session, &counts), MTP_OK);
    EXPECT_LE(counts.running, 4u);
    uint64_t ids[16];
    EXPECT_EQ(mtp_session_get_unfinished(session, ids, 16, &count), MTP_OK);
    ASSERT_LE(count, 3u);
    for (size_t i = 0; i < count; ++i)
      expectOutputOrNone(session, ids[i]);
    mtp_session_awaits_host(session);
    mtp_session_idle(session);
    std::this_thread::yield();
  }
}

} // namespace

TEST(CApiThreads, CallsComeFromAnyThread) {
  Stepped stepped;
  std::atomic<bool> ends = false;
  std::thread watcher([&] { watch(stepped.session, ends); });
  std::vector<std::thread> clients;
  for (int32_t i = 0; i < 3; ++i)
    clients.emplace_back([&stepped, i] { ask(stepped, i); });
  for (std::thread &client : clients)
    client.join();
  ends = true;
  watcher.join();
  mtp_memory_usage usage;
  mtp_memory_usage_init(&usage);
  EXPECT_EQ(mtp_session_get_memory_usage(stepped.session, &usage), MTP_OK);
  EXPECT_EQ(usage.held_pages, 0u);
}

// Each thread has a session, and all have one model.
TEST(CApiThreads, SessionsAreIndependent) {
  std::string path = writeFile("sessions.bin", makeFakeModel({}).finish());
  mtp_model *model = nullptr;
  ASSERT_EQ(mtp_model_load(path.c_str(), &model), MTP_OK);
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < 3; ++i)
    threads.emplace_back([model, i] {
      for (int32_t turn = 0; turn < 8; ++turn) {
        mtp_session_options options;
        mtp_session_options_init(&options);
        options.threads = 1;
        mtp_session *session = nullptr;
        ASSERT_EQ(mtp_session_create(model, &options, &session), MTP_OK)
            << mtp_message();
        Request asked = requestOf(i * 8 + turn);
        uint64_t id = submit(session, asked);
        Outputs outputs;
        while (!mtp_session_idle(session))
          ASSERT_EQ(mtp_session_step(session, Outputs::take, &outputs), MTP_OK);
        EXPECT_EQ(outputs.of(id), expectedOutput(asked).tokens);
        expectOwnMessage(session, uint64_t(i));
        mtp_session_free(session);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  mtp_model_free(model);
}
