//===- Options.h - What mtp-run was asked to do -----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_OPTIONS_H
#define MTP_TOOLS_MTP_RUN_OPTIONS_H

#include "mtp/session.h"

#include <string>
#include <vector>

namespace mtp {

struct RunOptions {
  std::string artifact;
  LoadOptions load;
  SessionOptions session;

  // Text generation.
  std::vector<std::string> prompts;
  std::vector<std::string> promptFiles;
  /// Prompts as token ids, "1,2,3".
  std::vector<std::string> ids;
  SamplingParams sampling;
  /// Zero: 128, or what the context leaves.
  uint32_t maxTokens = 0;
  std::vector<int32_t> stopTokens;
  bool ignoreEos = false;
  bool noSpecial = false;
  bool printIds = false;
  bool json = false;
  bool stats = false;

  // Scoring the prompts instead of going on with them.
  bool perplexity = false;
  /// Tokens that are scored together. Zero: the envelope's context.
  uint32_t window = 0;

  // Functions.
  std::string function;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::vector<std::string> outputs;
  double tolerance = 0;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_OPTIONS_H
