//===- ModelWarnings.cpp - Warnings about a model -------------------------===//

#include "tools/support/ModelWarnings.h"

#include <cstdio>

void mtp::warnAboutRule(const std::string &tool, const Model &model) {
  if (model.isLossy())
    std::fprintf(stderr,
                 "%s: warning: the artifact accepts drafts by the lossy rule "
                 "\"%s\": texts with drafts have not the model's "
                 "distribution\n",
                 tool.c_str(), std::string(model.rule()).c_str());
}

void mtp::warnAboutSnapshots(const std::string &tool, const Session &session) {
  const SessionOptions &options = session.options();
  if (options.prefixCache && options.snapshotBytes < session.snapshotBytes())
    std::fprintf(stderr,
                 "%s: warning: equal prompts share nothing: expected "
                 "--snapshot-bytes of at least %llu, a copy of what recurrent "
                 "layers carry, got %llu\n",
                 tool.c_str(), (unsigned long long)session.snapshotBytes(),
                 (unsigned long long)options.snapshotBytes);
}
