//===- Generation.cpp - Generate with an artifact of the fixture ----------===//

#include "Generation.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

std::shared_ptr<const Model> mtp::test::loadArtifact(const std::string &name) {
  auto model = Model::load(MTP_E2E_ARTIFACTS "/" + name + ".bin");
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  return model.isOk() ? *model : nullptr;
}

bool mtp::test::bitEqual(const std::vector<float> &a,
                         const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Pages do not leak: free + cached + held = all, and none is held.
static void expectNoPagesHeld(const Session &session) {
  Status invariants = session.checkInvariants();
  EXPECT_TRUE(invariants.isOk()) << invariants.toString();
  KvUsage usage = session.kvUsage();
  EXPECT_EQ(usage.heldPages, 0u);
  EXPECT_EQ(usage.freePages + usage.cachedPages + 1, session.options().kvPages);
}

static Generated collect(const Session &session, SequenceId id) {
  Generated result;
  auto output = session.output(id);
  EXPECT_TRUE(output.isOk()) << output.status().toString();
  result.tokens.assign(output->begin(), output->end());
  bool isKept = session.options().logits == LogitsMode::All;
  for (size_t i = 0; isKept && i < result.tokens.size(); ++i) {
    auto row = session.logits(id, i);
    EXPECT_TRUE(row.isOk()) << row.status().toString();
    result.logits.insert(result.logits.end(), row->begin(), row->end());
  }
  return result;
}

Outcome mtp::test::generate(std::shared_ptr<const Model> model,
                            SessionOptions options,
                            const std::vector<Request> &requests,
                            LogitsMode logits) {
  Outcome run;
  options.logits = logits;
  auto session = Session::create(std::move(model), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  if (!session.isOk())
    return run;
  std::vector<SequenceId> ids;
  for (const Request &request : requests) {
    auto id = (*session)->add(request);
    EXPECT_TRUE(id.isOk()) << id.status().toString();
    if (!id.isOk())
      return run;
    ids.push_back(*id);
  }
  while (!(*session)->idle()) {
    auto updates = (*session)->step();
    EXPECT_TRUE(updates.isOk()) << updates.status().toString();
    if (!updates.isOk())
      return run;
    for (const SequenceUpdate &update : *updates)
      EXPECT_TRUE(update.error.isOk()) << update.error.toString();
  }
  for (SequenceId id : ids)
    run.sequences.push_back(collect(**session, id));
  run.statistics = (*session)->statistics();
  expectNoPagesHeld(**session);
  return run;
}
