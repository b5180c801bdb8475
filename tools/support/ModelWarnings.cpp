//===- ModelWarnings.cpp - What is worth a word about a model -------------===//

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
