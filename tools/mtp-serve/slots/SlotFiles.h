//===- SlotFiles.h - The folder of saved prefixes ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_SLOTS_SLOTFILES_H
#define MTP_TOOLS_MTP_SERVE_SLOTS_SLOTFILES_H

#include "mtp/session.h"
#include "tools/mtp-serve/slots/SlotRequest.h"

namespace mtp::serve {

/// Answers requests for the files of one folder. For one thread at a time.
class SlotFiles {
public:
  /// `mostBytes`: limit of all files together.
  SlotFiles(std::string folder, uint64_t mostBytes)
      : folder(std::move(folder)), mostBytes(mostBytes) {}

  /// Carries out the action; `reply` gets llama-server's answer.
  MaybeError answer(const SlotRequest &request, Session &session,
                    HttpReply &reply) const;

private:
  MaybeError save(const SlotRequest &request, Session &session,
                  HttpReply &reply) const;
  MaybeError restore(const SlotRequest &request, Session &session,
                     HttpReply &reply) const;
  MaybeError erase(const SlotRequest &request, Session &session,
                   HttpReply &reply) const;
  std::string pathOf(const SlotRequest &request) const {
    return folder + "/" + request.filename;
  }
  ApiError fileError(const Status &status, std::string_view what) const;

  std::string folder;
  uint64_t mostBytes;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_SLOTS_SLOTFILES_H
