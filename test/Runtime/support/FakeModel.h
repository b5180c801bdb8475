//===- FakeModel.h - An artifact of the fake language -----------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_FAKEMODEL_H
#define MTP_TEST_RUNTIME_SUPPORT_FAKEMODEL_H

#include "ArtifactBuilder.h"
#include "mtp/runtime.h"

namespace mtp::test {

struct FakeOptions {
  uint32_t maxK = 4;
  uint32_t maxBatch = 4;
  uint32_t maxContext = 96;
  uint32_t page = 4;
  uint32_t modules = 1;
  /// Chunk sizes; the first is the envelope's chunk.
  std::vector<uint32_t> chunks = {8, 3};
  std::vector<int32_t> eos;
  /// True if a slot may draft less than its round.
  bool hasLimit = false;
  /// True if rounds with drafts may stop after drafting, and requests have an
  /// input of three numbers that no kernel reads.
  bool showsDrafts = false;
  /// True if the programs have four more states, one of each kind. A sequence
  /// fails if one of them has a wrong value at the end of its prefill.
  bool hasAudit = false;
  /// Upkeep of the state of two rows, and whether there is a state that nothing
  /// rebuilds.
  uint32_t pairRows = 2;
  bool hasFold = false;
  schema::Rebuild foldRebuild = schema::Rebuild::Never;
  /// True: one program of each k for batches up to 2 and one for larger
  /// batches, and prefills of 1 row to the chunk. False: one program for each
  /// batch and chunk.
  bool hasRanges = false;
  /// With ranges: the numbers of sequences of a chunk.
  std::vector<uint32_t> sequences = {1};
};

/// Makes all programs of the envelope, and the function @twice on 4xf32.
ArtifactBuilder makeFakeModel(const FakeOptions &options = {});

/// Turns the plan of a fake model with ranges into a plan for a GPU: chip sm_90
/// with PTX in addition to its cubin, or with an image for the driver gpu-sim.
/// The image itself is unchanged.
void planForGpu(ArtifactBuilder &builder, bool isHosted);

/// Writes bytes to a fresh file of the test's directory; returns its path.
std::string writeFile(const std::string &name,
                      const std::vector<uint8_t> &bytes);

/// Writes and loads a fake model. Aborts the test binary on an error.
std::shared_ptr<const Model> loadFakeModel(const FakeOptions &options = {});

/// Opens a session of a fake model that runs in the caller's thread. Its
/// kernels are so short that a second thread would only wait.
std::unique_ptr<Session> openFake(const FakeOptions &options = {});

/// Returns the logits after a list of tokens.
std::vector<float> fakeLogits(const std::vector<int32_t> &tokens);

/// The expected result of a request, computed one token at a time. Of the
/// runtime it uses only the sampler.
struct Expected {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::None;
};
Expected expectedOutput(const Request &request,
                        const std::vector<int32_t> &eos = {});

/// Runs a session until it is idle and checks its invariants after each step.
/// Returns an empty list on an error.
std::vector<SequenceUpdate> drain(Session &session);

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_FAKEMODEL_H
