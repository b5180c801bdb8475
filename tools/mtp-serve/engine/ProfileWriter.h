//===- ProfileWriter.h - Records a profile while serving --------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_PROFILEWRITER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_PROFILEWRITER_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace mtp::serve {

/// Merges a server's measurements into a profile, and writes it again and again
/// on its own thread. A reader sees a whole file at any time. A write that
/// fails is a line on standard error, and the next one is tried.
class ProfileWriter {
public:
  /// Returns the measurements since the server began.
  using Take = std::function<profile::Profile()>;

  /// Reads the profile of earlier runs, if there is one, and writes every
  /// `seconds` seconds from now on. Fails if the old file is damaged or of
  /// another model, or if no file can be written there.
  static Result<std::unique_ptr<ProfileWriter>>
  create(const std::string &path, Take take, double seconds);
  /// Writes once more.
  ~ProfileWriter();

private:
  ProfileWriter(std::string path, Take take, profile::Profile base)
      : path(std::move(path)), take(std::move(take)), base(std::move(base)) {}
  void run(double seconds);
  void write();

  std::string path;
  Take take;
  /// The measurements of earlier runs.
  profile::Profile base;
  /// The bytes of the last written profile.
  std::vector<uint8_t> written;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  std::thread thread;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_PROFILEWRITER_H
