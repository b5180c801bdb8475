//===- Answers.h - Answers as JSON ------------------------------*- C++ -*-===//
//
// The objects of OpenAI's API, each on one line.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_SERVE_ANSWERS_H
#define MTP_TOOLS_MTP_SERVE_ANSWERS_H

#include "mtp/session.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp::serve {

/// What all objects of an answer have in common.
struct AnswerHead {
  std::string id;
  std::string model;
  uint64_t created = 0;
  bool isChat = false;
};

/// Of tokens that came together, how many these were, and how many drafts the
/// rounds had which gave them.
struct AnswerRounds {
  std::vector<int32_t> tokens, drafted;
};

/// One answer, or what is new of it.
struct ChoicePart {
  size_t index = 0;
  std::string text;
  /// Of a chat, what was thought ahead of the answer.
  std::string reasoning;
  /// "stop", "length", ...; empty while more comes.
  std::string finish;
  /// Of a chat's stream: the first part of its answer.
  bool isFirst = false;
  /// Where the request asks for ids.
  std::optional<std::vector<int32_t>> ids;
  std::optional<std::vector<int32_t>> promptIds;
  /// Where the request asks for it.
  std::optional<AnswerRounds> rounds;
};

struct Usage {
  uint64_t promptTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t outputTokens = 0;
  uint64_t rounds = 0;
  /// By position.
  std::vector<uint64_t> drafted, accepted;

  /// Adds what a sequence counted of its rounds.
  void addRounds(const Statistics &statistics);
};

/// OpenAI's word for an end.
std::string finishName(FinishReason reason);

std::string wholeAnswer(const AnswerHead &head,
                        const std::vector<ChoicePart> &parts,
                        const Usage &usage);

/// One event of a stream. `hasUsage` streams have a usage of null until their
/// last event, unless `soFar` is that of what has come: its tokens are said.
std::string streamPart(const AnswerHead &head, const ChoicePart &part,
                       bool hasUsage,
                       const std::optional<Usage> &soFar = std::nullopt);

/// That last event: no part, but the usage.
std::string streamUsage(const AnswerHead &head, const Usage &usage);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ANSWERS_H
