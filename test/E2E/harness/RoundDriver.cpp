//===- RoundDriver.cpp - Runs rounds and shows their drafts ---------------===//

#include "RoundDriver.h"

#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/launch/RuleStates.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

RoundDriver::RoundDriver(std::shared_ptr<const Model> loaded, uint32_t k)
    : model(std::move(loaded)), k(k),
      artifact(ModelAccess::file(*model)->artifact()),
      programs(artifact.plans[ModelAccess::plan(*model)]) {
  const EnvelopeInfo &e = *model->envelope();
  uint32_t pages = uint32_t(pagesPerSlot(e.maxContext, e.pageTokens));
  auto device = ModelAccess::open(*model, {.threads = 1});
  EXPECT_TRUE(device.isOk()) << device.status().toString();
  auto loading = (*device)->load(ModelAccess::file(*model),
                                 ModelAccess::plan(*model), pages + 1);
  EXPECT_TRUE(loading.isOk()) << loading.status().toString();
  executable = std::move(*loading);
  host = std::make_unique<HostState>(artifact, *executable);
  auto made = SlotStates::create(artifact, *executable);
  EXPECT_TRUE(made.isOk()) << made.status().toString();
  states = std::move(*made);
}

void RoundDriver::run(uint32_t program, uint32_t n) {
  Status status = executable->run(program, n);
  EXPECT_TRUE(status.isOk()) << status.toString();
}

std::vector<int32_t> RoundDriver::emitted() {
  std::span<const int32_t> tokens = host->emitted(0).value();
  return std::vector<int32_t>(tokens.begin(), tokens.end());
}

int32_t RoundDriver::prefill(std::span<const int32_t> prompt) {
  const EnvelopeInfo &e = *model->envelope();
  uint32_t program = programs.prefill(e.prefillChunk, /*drafts=*/true);
  EXPECT_TRUE(states->admit(0, prompt, {}).isOk());
  // The only sequence owns all pages, in order; page 0 is the dummy.
  std::vector<int32_t> table(pagesPerSlot(e.maxContext, e.pageTokens));
  std::iota(table.begin(), table.end(), 1);
  EXPECT_TRUE(host->setPageTable(0, table).isOk());
  // Greedy: temperature 0.
  EXPECT_TRUE(host->setSampling(0, SamplingRow{}).isOk());
  EXPECT_TRUE(host->setDraftLimit(0, k).isOk());
  // Clears what rounds of an earlier prompt have accepted.
  EXPECT_TRUE(!host->canSetAccepted() || host->setAccepted(0, 0).isOk());
  RuleStates rules(artifact, *executable);
  EXPECT_TRUE(!rules.exist() || rules.write(0, {}, prompt, {}).isOk());
  for (uint32_t start = 0; start < prompt.size(); start += e.prefillChunk) {
    uint32_t rest = uint32_t(prompt.size()) - start;
    PromptPart part = {/*slot=*/0, start, std::min(rest, e.prefillChunk),
                       /*firstRow=*/0, prompt};
    EXPECT_TRUE(host->setPrefill({&part, 1}).isOk());
    run(program, e.prefillChunk);
  }
  return emitted().front();
}

RoundDriver::Round RoundDriver::decode() {
  int32_t slot = 0;
  EXPECT_TRUE(host->setActive({&slot, 1}).isOk());
  // One round; the sequence goes on after it.
  LoopLimits limits;
  limits.budget = INT32_MAX;
  EXPECT_TRUE(host->setLoop(0, limits).isOk());
  uint32_t program = programs.decode(/*batch=*/1, k);
  run(program, 1);
  Round round;
  round.tokens = emitted();
  // The tokens of the verified rows: the anchor, then the drafts.
  for (const Port &port : programs.program(program).outputs) {
    if (port.name != "tokens")
      continue;
    std::vector<int32_t> verified(programs.nodes(k));
    Status status = executable->read(port.place.at(1), verified.data(),
                                     verified.size() * sizeof(int32_t));
    EXPECT_TRUE(status.isOk()) << status.toString();
    round.drafts.assign(verified.begin() + 1, verified.end());
  }
  return round;
}
