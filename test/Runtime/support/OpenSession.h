//===- OpenSession.h - Sessions with a test's clock and device --*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_OPENSESSION_H
#define MTP_TEST_RUNTIME_SUPPORT_OPENSESSION_H

#include "runtime/exec/SessionFactory.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// Opens a session with parts that the test supplies.
inline std::unique_ptr<Session> openSession(std::shared_ptr<const Model> model,
                                            const SessionOptions &options,
                                            SessionSetup setup) {
  auto session =
      SessionFactory::create(std::move(model), options, std::move(setup));
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return session.isOk() ? std::move(*session) : nullptr;
}

/// Opens a session, and notes the executable that runs its programs.
inline std::unique_ptr<Session> openSession(std::shared_ptr<const Model> model,
                                            const SessionOptions &options,
                                            Executable *&device) {
  SessionSetup setup;
  setup.device = [&device](std::unique_ptr<Executable> loaded) {
    device = loaded.get();
    return loaded;
  };
  return openSession(std::move(model), options, std::move(setup));
}

/// A clock that goes by the counts of its session. The session is set after it
/// has been opened; until then no time passes.
class SessionClock {
public:
  using Seconds = std::function<double(const Statistics &)>;
  explicit SessionClock(Seconds seconds)
      : shared(std::make_shared<Shared>(std::move(seconds), nullptr)) {}

  double operator()() const {
    return shared->session ? shared->seconds(shared->session->statistics()) : 0;
  }
  void setSession(const Session &session) { shared->session = &session; }

private:
  struct Shared {
    Shared(Seconds seconds, const Session *session)
        : seconds(std::move(seconds)), session(session) {}
    Seconds seconds;
    const Session *session;
  };
  std::shared_ptr<Shared> shared;
};

/// Opens a session whose passes and rounds are timed by its own counts.
inline std::unique_ptr<Session> openClocked(std::shared_ptr<const Model> model,
                                            const SessionOptions &options,
                                            SessionClock::Seconds seconds) {
  SessionClock clock(std::move(seconds));
  SessionSetup setup;
  setup.clock = clock;
  auto session = openSession(std::move(model), options, std::move(setup));
  if (session)
    clock.setSession(*session);
  return session;
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_OPENSESSION_H
