//===- Handles.h - What objects of Python hold ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_HANDLES_H
#define MTP_TOOLS_PYTHON_SRC_HANDLES_H

#include "tools/python/src/LoadedModel.h"
#include "tools/python/src/SharedSession.h"

#include <memory>
#include <mutex>
#include <unistd.h>

namespace mtp::python {

/// A model, shared with its sessions.
struct ModelHandle {
  std::shared_ptr<const LoadedModel> loaded;
};

/// The tools of an answer.
struct ToolsHandle {
  std::shared_ptr<const AnswerCalls> calls;
};

/// A session that its owner may close while other threads use it. The last
/// user frees it. A forked process has no threads of the session, so it can
/// neither use the session nor free it.
class SessionHandle {
public:
  SessionHandle(std::shared_ptr<SharedSession> session,
                std::shared_ptr<const LoadedModel> model)
      : model(std::move(model)), session(std::move(session)) {}
  ~SessionHandle() { close(); }

  /// Throws FailedPrecondition if the session is closed or of another process.
  std::shared_ptr<SharedSession> get() const;
  void close();
  bool isClosed() const;
  const LoadedModel &getModel() const { return *model; }

private:
  bool isForked() const { return getpid() != process; }

  const pid_t process = getpid();
  /// In front of the session, so that the session ends before its model.
  std::shared_ptr<const LoadedModel> model;
  mutable std::mutex mutex;
  /// Null: closed.
  std::shared_ptr<SharedSession> session;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_HANDLES_H
