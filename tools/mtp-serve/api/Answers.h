//===- Answers.h - Answers as JSON ------------------------------*- C++ -*-===//
//
// The objects of OpenAI's API, each on one line.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_SERVE_API_ANSWERS_H
#define MTP_TOOLS_MTP_SERVE_API_ANSWERS_H

#include "mtp/session.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp::serve {

/// Fields that all objects of an answer share.
struct AnswerHead {
  std::string id;
  std::string model;
  uint64_t created = 0;
  bool isChat = false;
};

/// For each group of tokens that arrived together: the number of tokens, and
/// the number of drafts in the rounds that produced them.
struct AnswerRounds {
  std::vector<int32_t> tokens, drafted;
};

/// One answer, or its new part.
struct ChoicePart {
  size_t index = 0;
  std::string text;
  /// In a chat, the reasoning before the answer.
  std::string reasoning;
  /// "stop", "length", ...; empty while the answer goes on.
  std::string finish;
  /// True for the first part of a chat's streamed answer.
  bool isFirst = false;
  /// Set if the request asks for ids.
  std::optional<std::vector<int32_t>> ids;
  std::optional<std::vector<int32_t>> promptIds;
  /// Set if the request asks for it.
  std::optional<AnswerRounds> rounds;
};

struct Usage {
  uint64_t promptTokens = 0;
  uint64_t cachedTokens = 0;
  uint64_t outputTokens = 0;
  uint64_t rounds = 0;
  /// Numbers of drafts and of accepted drafts, by position in the round.
  std::vector<uint64_t> drafted, accepted;

  /// Adds the round counters of a sequence.
  void addRounds(const Statistics &statistics);
};

/// Returns OpenAI's name for a finish reason.
std::string finishName(FinishReason reason);

std::string wholeAnswer(const AnswerHead &head,
                        const std::vector<ChoicePart> &parts,
                        const Usage &usage);

/// Returns one event of a stream. Streams with `hasUsage` have a null usage
/// until their last event, unless `soFar` gives the usage up to this event.
std::string streamPart(const AnswerHead &head, const ChoicePart &part,
                       bool hasUsage,
                       const std::optional<Usage> &soFar = std::nullopt);

/// Returns the last event of a stream with usage: no part, only the usage.
std::string streamUsage(const AnswerHead &head, const Usage &usage);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_ANSWERS_H
