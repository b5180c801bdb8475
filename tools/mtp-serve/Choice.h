//===- Choice.h - One answer as it comes ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_CHOICE_H
#define MTP_TOOLS_MTP_SERVE_CHOICE_H

#include "mtp/session.h"
#include "mtp/stream_decoder.h"
#include "tools/mtp-serve/StopStrings.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp::serve {

/// Makes text of the tokens of one sequence, up to a stop string. What came and
/// nobody has taken yet waits here: at most what the context's tokens spell.
class Choice {
public:
  /// Without a tokenizer there is no text. Ids are kept where `keepsIds`.
  Choice(const Tokenizer *tokenizer, bool skipsSpecial, bool keepsIds,
         std::vector<std::string> stops);

  /// Puts text before what comes, as `echo` wants it. Not searched for stops.
  void prepend(const std::string &text) { pending += text; }

  /// Tokens behind a stop string are dropped.
  Status take(std::span<const int32_t> tokens);

  /// The sequence has ended; nothing more comes.
  void end(FinishReason reason, Statistics statistics);

  /// A stop string was found: the rest of the sequence is of no use.
  bool hasStopped() const { return stops.stopped(); }
  /// No more text comes: the sequence has ended, or a stop string was found.
  bool isComplete() const { return finish != FinishReason::None; }
  bool hasEnded() const { return ended; }
  FinishReason finishReason() const { return finish; }

  /// Up to and with the one that completed a stop string.
  size_t tokenCount() const { return count; }
  const Statistics &statistics() const { return numbers; }

  /// What has come since the last call, of text at most `most` bytes and whole
  /// characters.
  std::string takeText(size_t most);
  std::vector<int32_t> takeIds();
  /// Whether something has come; ids count too.
  bool hasNews() const { return !pending.empty() || !ids.empty(); }

private:
  std::optional<StreamDecoder> decoder;
  StopStrings stops;
  bool keepsIds;
  /// What nobody has taken.
  std::string pending;
  std::vector<int32_t> ids;
  size_t count = 0;
  FinishReason finish = FinishReason::None;
  bool ended = false;
  Statistics numbers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_CHOICE_H
