//===- FakeModel.h - An artifact of the fake language -----------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_FAKEMODEL_H
#define MTP_TEST_RUNTIME_FAKEMODEL_H

#include "ArtifactBuilder.h"
#include "mtp/runtime.h"

namespace mtp::test {

struct FakeOptions {
  uint32_t maxK = 4;
  uint32_t maxBatch = 4;
  uint32_t maxContext = 96;
  uint32_t page = 4;
  uint32_t modules = 1;
  /// The first is the envelope's chunk.
  std::vector<uint32_t> chunks = {8, 3};
  std::vector<int32_t> eos;
  /// A slot may draft less than its round.
  bool hasLimit = false;
  /// Rounds with drafts may stop behind these, and requests bring an input,
  /// three numbers that no kernel reads.
  bool showsDrafts = false;
  /// The programs have four states more, one of each kind, and a sequence fails
  /// when one of them is not what it should be when its prefill ends.
  bool hasAudit = false;
  /// The upkeep of the state of two rows, and of the one that nothing rebuilds.
  uint32_t pairRows = 2;
  bool hasFold = false;
  schema::Rebuild foldRebuild = schema::Rebuild::Never;
  /// A program of each k for batches up to 2 and one for larger ones, prefills
  /// of 1 row to the chunk. Else one of each batch and chunk.
  bool hasRanges = false;
  /// With ranges: the sequences that a chunk may be of.
  std::vector<uint32_t> sequences = {1};
};

/// All programs of the envelope, and the function @twice on 4xf32.
ArtifactBuilder makeFakeModel(const FakeOptions &options = {});

/// Makes the plan of a fake model with ranges one for a GPU: chip sm_90 with
/// PTX beside its cubin, or with an image that is hosted by the driver gpu-sim.
/// Its image stays as it is.
void planForGpu(ArtifactBuilder &builder, bool isHosted);

/// Writes bytes to a fresh file of the test's directory; returns its path.
std::string writeFile(const std::string &name,
                      const std::vector<uint8_t> &bytes);

/// Writes and loads a fake model. Aborts the test binary on an error.
std::shared_ptr<const Model> loadFakeModel(const FakeOptions &options = {});

/// The logits behind a list of tokens.
std::vector<float> fakeLogits(const std::vector<int32_t> &tokens);

/// What a request must yield, computed one token at a time without any of the
/// runtime but the sampler.
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

#endif // MTP_TEST_RUNTIME_FAKEMODEL_H
