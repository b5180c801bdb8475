//===- Generation.h - Generate with an artifact of the fixture --*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_GENERATION_H
#define MTP_TEST_E2E_HARNESS_GENERATION_H

#include "mtp/runtime.h"

#include <span>
#include <string>
#include <vector>

namespace mtp::test {

/// Returns true if the artifacts belong to a kit of tools/gpu-check. Its driver
/// is a GPU's, and its CPU plans run on any x86-64.
bool isKit();

/// Returns true if the environment has MTP_TREES=all, as in the long check.
/// Tests then run all their cases instead of a selection.
bool takesAll();

/// Returns the path of the fixture's NAME.bin.
std::string artifactPath(const std::string &name);

/// Loads the fixture's NAME.bin. On failure the test fails and null is
/// returned.
std::shared_ptr<const Model> loadArtifact(const std::string &name,
                                          DeviceKind device = DeviceKind::Auto);

/// Returns an artifact's name as a test name, with only letters, digits and
/// underscores.
std::string testName(std::string artifact);

/// The result of a sequence.
struct Generated {
  std::vector<int32_t> tokens;
  /// One row per token, concatenated.
  std::vector<float> logits;
  /// Log-probabilities of the tokens, if the request asks for them.
  std::vector<TokenLogprobs> logprobs;
};

/// Returns a sequence's tokens, with their logits if the session keeps all.
Generated collect(const Session &session, SequenceId id);

/// Compares bits, not values: NaN equals itself, and -0 is not 0.
bool bitEqual(const std::vector<float> &a, const std::vector<float> &b);

/// Returns token `i` of endless text `text`.
int32_t textToken(uint32_t text, uint32_t i, uint32_t vocab);

/// The result of a whole run.
struct Outcome {
  std::vector<Generated> sequences;
  Statistics statistics;
};

/// Runs all requests to their ends in one session, with all logits kept, or
/// those that `logits` selects. A selection is not part of the outcome. All
/// requests arrive before the first step, or one each `stepsApart` steps. The
/// test fails if a sequence fails, or if pages leak or are still held.
Outcome generate(std::shared_ptr<const Model> model, SessionOptions options,
                 const std::vector<Request> &requests,
                 LogitsMode logits = LogitsMode::All, size_t stepsApart = 0);

/// Returns the simplest options for `k` and `slots`: one thread, no prefix
/// reuse.
SessionOptions single(uint32_t k, uint32_t slots);

/// Returns the differences between sessions, for messages.
std::string describe(const SessionOptions &options);

/// Compares tokens, logits and log-probabilities bit for bit. `options` are the
/// options of `run`.
void expectSame(const Outcome &run, const Outcome &expected,
                const SessionOptions &options);

/// Runs a session to the end of its sequences, and compares the tokens of `ids`
/// with the first of `expected`. Checks the session's invariants. Failures name
/// `where`.
void finishLike(Session &session, const std::vector<SequenceId> &ids,
                std::span<const Generated> expected,
                const std::string &where = {});

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_GENERATION_H
