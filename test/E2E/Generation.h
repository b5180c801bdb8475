//===- Generation.h - Generate with an artifact of the fixture --*- C++ -*-===//

#ifndef MTP_TEST_E2E_GENERATION_H
#define MTP_TEST_E2E_GENERATION_H

#include "mtp/runtime.h"

#include <string>
#include <vector>

namespace mtp::test {

/// Whether the artifacts are those of a kit of tools/gpu-check, whose driver is
/// a GPU's, and whose plans for the CPU are for any.
bool isKit();

/// Whether the environment has MTP_TREES=all, as in the long check: all of what
/// a test has else a part of.
bool takesAll();

/// Where NAME.bin of the fixture is.
std::string artifactPath(const std::string &name);

/// Loads NAME.bin of the fixture; a test failure and null when it cannot.
std::shared_ptr<const Model> loadArtifact(const std::string &name,
                                          DeviceKind device = DeviceKind::Auto);

/// An artifact's name as a test's, which has letters, digits and underscores.
std::string testName(std::string artifact);

/// What a sequence came out as.
struct Generated {
  std::vector<int32_t> tokens;
  /// One row per token, flat.
  std::vector<float> logits;
};

/// Bits, not values: NaN equals itself, and -0 is not 0.
bool bitEqual(const std::vector<float> &a, const std::vector<float> &b);

/// Token `i` of an endless text, the same for all prompts.
int32_t textToken(uint32_t text, uint32_t i, uint32_t vocab);

/// Everything that a run left behind.
struct Outcome {
  std::vector<Generated> sequences;
  Statistics statistics;
};

/// Runs all requests to their ends in one session, which keeps all logits or
/// those that `logits` says; others than all are not part of the outcome. Fails
/// the test when a sequence fails, or pages are lost or still held.
Outcome generate(std::shared_ptr<const Model> model, SessionOptions options,
                 const std::vector<Request> &requests,
                 LogitsMode logits = LogitsMode::All);

/// The plainest session but for `k` and `slots`: one thread, no reuse.
SessionOptions single(uint32_t k, uint32_t slots);

/// What differs from one session to another, for messages.
std::string describe(const SessionOptions &options);

/// Compares tokens and logits to the bit; `options` are those of `run`.
void expectSame(const Outcome &run, const Outcome &expected,
                const SessionOptions &options);

} // namespace mtp::test

#endif // MTP_TEST_E2E_GENERATION_H
