//===- ModelFacts.h - Limits that requests must meet ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_MODELFACTS_H
#define MTP_TOOLS_MTP_SERVE_API_MODELFACTS_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/tokenizer.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "tools/mtp-serve/api/tools/ToolUse.h"

#include <string>
#include <vector>

namespace mtp::serve {

/// Constant properties of a server's model and session.
struct ModelFacts {
  /// The names by which requests may call the model; answers use the first.
  std::vector<std::string> names;
  /// Names the server's version and model in answers.
  std::string fingerprint;
  uint32_t vocab = 0;
  /// The limit for tokens of prompt and output together.
  uint32_t maxContext = 0;
  /// Limits of the session: drafts per round, and sequences at a time.
  uint32_t maxK = 0;
  uint32_t slots = 0;
  /// Whether drafts may end by confidence.
  bool endsDrafts = false;
  /// Whether requests may have LogitRules.
  bool hasLogitRules = false;
  /// Whether requests may have grammars: the model masks tokens, and has a
  /// tokenizer and end tokens.
  bool hasGrammars = false;
  GenerationInfo generation;
  /// Null: prompts and answers are ids only.
  const Tokenizer *tokenizer = nullptr;
  /// Whether the artifact can score prompts.
  bool scoresPrompts = false;
  /// Null: conversations are refused.
  const ChatTemplate *chat = nullptr;
  /// How answers in conversations mark reasoning.
  ReasoningFormat reasoning = ReasoningFormat::None;
  /// How conversations and answers have tool calls.
  ToolFacts tools;
  /// Whether unknown fields, other models and limits beyond the context are
  /// errors.
  bool isStrict = false;
  /// Whether a gate may continue streams of other servers here.
  bool isReplica = false;
  /// Start of the server, in seconds since 1970.
  uint64_t created = 0;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_MODELFACTS_H
