//===- GenerationRequest.h - Parse request bodies ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_GENERATIONREQUEST_H
#define MTP_TOOLS_MTP_SERVE_GENERATIONREQUEST_H

#include "mtp/session.h"
#include "tools/mtp-serve/ApiError.h"
#include "tools/mtp-serve/ModelFacts.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::serve {

/// A prompt as a body has it.
struct PromptSource {
  std::string text;
  /// Where it is given as ids.
  std::vector<int32_t> ids;
  bool isText = false;
};

/// A body of /v1/completions or /v1/chat/completions with all its values
/// checked against the model, but for the length of its prompts.
struct GenerationRequest {
  /// Sequences that one body may ask for.
  static constexpr uint32_t kMaxChoices = 256;
  static constexpr size_t kMaxStops = 16, kMaxStopBytes = 1024;

  /// Empty: not said.
  std::string model;
  std::vector<PromptSource> prompts;
  /// A conversation instead, as JSON for the chat template.
  std::string conversation;
  bool isChat = false;

  /// Prompts, or the one that a conversation makes.
  size_t promptCount() const { return isChat ? 1 : prompts.size(); }

  SamplingParams sampling;
  /// Not said: each answer is another one.
  bool hasSeed = false;
  std::optional<uint32_t> maxTokens;
  /// The field that it is from: 'max_completion_tokens' where both are given.
  std::string maxTokensField = "max_tokens";
  std::vector<std::string> stops;
  std::vector<int32_t> stopTokens;
  /// Output tokens before which nothing ends an answer.
  uint32_t minTokens = 0;
  /// Those of the lowest number come first.
  int32_t priority = 0;
  /// Pages of prompts are shared where it is the same.
  std::string cacheSalt;
  /// Seconds that the whole answer may take; zero: not said.
  float timeout = 0;
  /// Whose key it came with, from 1 on; zero: the server asks for none.
  uint64_t client = 0;
  /// Answers to each prompt.
  uint32_t n = 1;
  uint32_t k = Request::kSessions;
  bool echo = false;
  bool ignoreEos = false;
  bool addSpecialTokens = true;
  bool skipSpecialTokens = true;
  /// Answers have token ids, too.
  bool returnsIds = false;
  /// And say how many tokens came together.
  bool returnsRounds = false;
  bool streams = false;
  /// A stream has its usage behind the last part, or in each part so far.
  bool includesUsage = false;
  bool hasUsageInAll = false;
};

/// Reads untrusted JSON. What the server cannot do is an error that names the
/// field, unless the field has the value that changes nothing.
MaybeError parseCompletion(std::string_view body, const ModelFacts &facts,
                           GenerationRequest &request);
/// The same for /v1/chat/completions. Fails where the model has no template.
MaybeError parseChat(std::string_view body, const ModelFacts &facts,
                     GenerationRequest &request);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_GENERATIONREQUEST_H
