//===- PairTimer.h - Two artifacts in alternation ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_PAIRTIMER_H
#define MTP_TOOLS_MTP_TUNE_PAIRTIMER_H

#include "mtp/session.h"
#include "runtime/profile/Alternative.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace mtp::tune {

/// A shape to compare.
struct PairShape {
  profile::Work work = profile::Work::Round;
  uint32_t batch = 1, k = 0;
  /// Tokens in each slot before the first round, or of the prompt.
  uint32_t context = 1;

  bool operator==(const PairShape &) const = default;
};

/// Compares the times of two artifacts of a model whose outputs are equal. Both
/// run in this process, one after the other in each pair. The order changes
/// from pair to pair. A time is the shortest of a few runs, since other
/// processes only make runs longer.
class PairTimer {
public:
  using Models = std::array<std::shared_ptr<const Model>, 2>;

  /// Text for the slots, which repeats if a slot needs more.
  PairTimer(Models models, SessionOptions options, std::vector<int32_t> text)
      : models(std::move(models)), options(std::move(options)),
        text(std::move(text)) {}

  /// Runs pairs of a shape for at most `seconds`, and returns the ratio of
  /// times, second over first, with its standard error. Returns nothing if
  /// there was no time for kLeastPairs. Shapes that differ in k only
  /// share sessions if they follow each other.
  Result<std::optional<profile::Alternative>> compare(const PairShape &shape,
                                                      double seconds);

private:
  Status open(const PairShape &shape);
  Status fill(const PairShape &shape, Session &session);
  Status drain(Session &session);
  Result<double> time(const PairShape &shape, size_t which);
  Result<double> timeRounds(const PairShape &shape, Session &session);
  Result<double> timePrompt(const PairShape &shape, Session &session);
  Request requestOf(uint32_t slot, uint32_t tokens) const;

  Models models;
  SessionOptions options;
  std::vector<int32_t> text;
  std::array<std::unique_ptr<Session>, 2> sessions;
  /// The shape of the sessions without its k; nothing without sessions.
  std::optional<PairShape> opened;
  /// The k of the next rounds.
  uint32_t currentK = 0;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_PAIRTIMER_H
