//===- ModelFacts.h - What requests are checked against ---------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_MODELFACTS_H
#define MTP_TOOLS_MTP_SERVE_MODELFACTS_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/tokenizer.h"
#include "runtime/chat/ReasoningSplitter.h"

#include <string>
#include <vector>

namespace mtp::serve {

/// What a server knows of its model and session; never changes.
struct ModelFacts {
  /// What requests may call the model; answers have the first.
  std::vector<std::string> names;
  uint32_t vocab = 0;
  /// Tokens of prompt and output together.
  uint32_t maxContext = 0;
  /// Of the session: drafts in a round, and sequences at a time.
  uint32_t maxK = 0;
  uint32_t slots = 0;
  GenerationInfo generation;
  /// Null: prompts are ids, and answers have ids alone.
  const Tokenizer *tokenizer = nullptr;
  /// Null: conversations cannot be read.
  const ChatTemplate *chat = nullptr;
  /// How answers in conversations mark what was thought.
  ReasoningFormat reasoning = ReasoningFormat::None;
  /// Seconds since 1970 when the server began.
  uint64_t created = 0;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_MODELFACTS_H
