//===- SlotRoutes.cpp - Answers to /slots/ID ------------------------------===//

#include "tools/mtp-serve/http/Routes.h"
#include "tools/mtp-serve/slots/SlotFiles.h"

using namespace mtp;
using namespace mtp::serve;

RouteAnswer Routes::saveSlot(HttpRequest &request) {
  if (options.slotFolder.empty())
    return {refusal(501, "expected a server with --slot-save-path, got one "
                         "without: it saves no prefixes"),
            nullptr, nullptr};
  SlotRequest slot;
  if (MaybeError error = parseSlotTarget(request, dispatcher.model(), slot))
    return {replyOf(*error), nullptr, nullptr};
  RouteAnswer later;
  later.text = std::make_shared<TextJob>();
  later.text->client = request.client;
  later.text->usesFiles = true;
  later.text->share = std::move(request.share);
  // The job owns its work, so it lives longer.
  const std::atomic<bool> &isDropped = later.text->isDropped;
  later.text->work = [body = std::move(request.body), slot, &isDropped,
                      &facts = dispatcher.model(),
                      &session = dispatcher.session(),
                      files = SlotFiles(options.slotFolder,
                                        options.slotFolderBytes)]() mutable {
    HttpReply reply;
    MaybeError error = parseSlotBody(body, facts, isDropped, slot);
    if (!error)
      error = files.answer(slot, session, reply);
    if (error)
      reply = Routes::replyOf(*error);
    return reply;
  };
  return later;
}
