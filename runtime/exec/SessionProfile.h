//===- SessionProfile.h - A session's own measurements ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SESSIONPROFILE_H
#define MTP_RUNTIME_EXEC_SESSIONPROFILE_H

#include "mtp/session.h"
#include "runtime/profile/Profile.h"

namespace mtp {

/// Access to what a session knows about profiles, for tools. Any thread may
/// call the functions.
struct SessionProfile {
  /// Returns what the session does not use of its model's profile and why, one
  /// line of text each.
  static const std::vector<std::string> &notes(const Session &session);
  /// Returns the measurements of a session with
  /// SessionOptions::recordsProfile so far: its model's key, and one machine.
  static profile::Profile recorded(const Session &session);
  /// Returns the key of a model in profiles.
  static profile::ModelKey modelKey(const Model &model);
  /// Returns the profile from LoadOptions::profile; null without one.
  static const profile::Profile *loaded(const Model &model);
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SESSIONPROFILE_H
