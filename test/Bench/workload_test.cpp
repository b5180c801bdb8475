//===- workload_test.cpp - Bytes and operations of commands ---------------===//

#include "tools/mtp-bench/measure/Workload.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::bench;

namespace {

/// An artifact with one program whose commands a test adds.
class Workload : public testing::Test {
protected:
  void add(const char *kind, const char *config, int64_t rows,
           std::vector<Place> places) {
    commands.push_back({uint32_t(kernels.size()), uint32_t(all.places.size()),
                        uint32_t(all.params.size())});
    kernels.push_back(schema::CreateKernelDirect(fbb, "symbol", kind, config, 0,
                                                 uint32_t(places.size()), 1));
    all.places.insert(all.places.end(), places.begin(), places.end());
    all.params.push_back({rows, 0});
  }

  void finish() {
    std::vector<flatbuffers::Offset<schema::Cache>> caches = {
        schema::CreateCacheDirect(fbb, "kv", 2, /*entry_width=*/6,
                                  schema::DType::BF16)};
    std::vector<flatbuffers::Offset<schema::Blob>> weights;
    for (uint64_t size : {1000, 2000, 4000})
      weights.push_back(schema::CreateBlobDirect(fbb, "w", 0, 0, size));
    std::vector<flatbuffers::Offset<schema::Plan>> plans = {
        schema::CreatePlanDirect(fbb, schema::CreateTargetDirect(fbb, "x86_64"),
                                 nullptr, &kernels, &weights)};
    fbb.Finish(schema::CreateArtifactDirect(fbb, "test", nullptr, 0, 0, &caches,
                                            nullptr, nullptr, -1, &plans));
    const auto *root = schema::GetArtifact(fbb.GetBufferPointer());
    artifact.caches = root->caches();
    plan.kernels = root->plans()->Get(0)->kernels();
    plan.weights = root->plans()->Get(0)->weights();
    all.commands = commands;
  }

  Work work(uint32_t command, uint32_t batch = 1, uint32_t context = 10) {
    finish();
    return commandWork(artifact, plan, all, all.commands[command], batch,
                       context);
  }
  static Place weight(uint32_t index, int64_t bytes) {
    return {schema::Space::Weight, index, {}, {bytes, 0}};
  }

  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<schema::Kernel>> kernels;
  std::vector<Command> commands;
  Artifact artifact;
  Plan plan;
  Program all;
};

} // namespace

TEST_F(Workload, ReadsPrintedConfigurations) {
  const char *config = "{dtype = \"bf16\", k = 7 : i64, rank = 5 : i64, "
                       "top_k = 2 : i64}";
  EXPECT_EQ(configInt(config, "k"), 7);
  EXPECT_EQ(configInt("{top_k = 2 : i64, k = 7 : i64}", "k"), 7);
  EXPECT_EQ(configInt("{k = 3 : i64}", "k"), 3);
  EXPECT_EQ(configInt("k = 4 : i64, n = 32 : i64", "k"), 4);
  EXPECT_EQ(configInt(config, "n"), 0);
  EXPECT_EQ(configText(config, "dtype"), "bf16");
  EXPECT_EQ(configText(config, "k"), "");
}

TEST_F(Workload, ReadsConfigurationsWithAttributesInThem) {
  const char *config =
      "#exec.linear<prologue = <norm, k = 3, x = [4, 5]>, k = 192, rank = 5, "
      "note = \"a, n = 9 <\", activation = silu, "
      "format = <int4, group = 64>, n = 32>";
  EXPECT_EQ(configInt(config, "k"), 192);
  EXPECT_EQ(configInt(config, "n"), 32);
  EXPECT_EQ(configInt(config, "rank"), 5);
  EXPECT_EQ(configText(config, "format"), "int4");
  EXPECT_EQ(configText(config, "activation"), "silu");
  EXPECT_EQ(configText(config, "note"), "a, n = 9 <");
  EXPECT_EQ(configText(config, "prologue"), "norm");
  EXPECT_EQ(configText(config, "k"), "");
  // Keys inside an attribute are not the kernel's.
  EXPECT_EQ(configInt(config, "group"), 0);
  EXPECT_EQ(configInt(config, "x"), 0);
  // Without the names that a printer may leave out, and with them.
  EXPECT_EQ(configText("<format = <bf16>>", "format"), "bf16");
  EXPECT_EQ(
      configText("k = 1, format = #exec.format<int8, group = 32>", "format"),
      "int8");
  EXPECT_EQ(configInt("", "k"), 0);
  EXPECT_EQ(configText("#exec.copy<>", "format"), "");
  EXPECT_EQ(configInt("<k = 1, <<", "n"), 0);
}

TEST_F(Workload, AProductReadsItsWeightsOnce) {
  add("linear", "{dtype = \"bf16\", k = 10 : i64, n = 32 : i64}", 3,
      {weight(0, 40), weight(1, 640)});
  Work w = work(0);
  EXPECT_EQ(w.weightBytes, 680);
  EXPECT_EQ(w.kvBytes, 0);
  EXPECT_EQ(w.ops, 2 * 3 * 10 * 32);
  EXPECT_EQ(w.type, Arithmetic::BF16);
}

TEST_F(Workload, TheTypeOfAProductIsThatOfItsWeights) {
  for (const char *config :
       {"{dtype = \"f32\", k = 10 : i64, n = 32 : i64}",
        "{dtype = \"int8\", group = 32 : i64, k = 10 : i64, n = 32 : i64}",
        "{dtype = \"int4\", group = 32 : i64, k = 10 : i64, n = 32 : i64}"})
    add("linear", config, 3, {weight(0, 40)});
  EXPECT_EQ(work(0).type, Arithmetic::F32);
  EXPECT_EQ(work(1).type, Arithmetic::I8);
  EXPECT_EQ(work(2).type, Arithmetic::I4);
}

TEST_F(Workload, TheTypeOfAProductIsItsFormat) {
  for (const char *format :
       {"f32", "bf16", "int8, group = 32", "int4, group = 128"})
    add("linear",
        ("#exec.linear<k = 10, n = 32, format = <" + std::string(format) + ">>")
            .c_str(),
        3, {weight(0, 40)});
  EXPECT_EQ(work(0).type, Arithmetic::F32);
  EXPECT_EQ(work(1).type, Arithmetic::BF16);
  EXPECT_EQ(work(2).type, Arithmetic::I8);
  EXPECT_EQ(work(3).type, Arithmetic::I4);
  EXPECT_EQ(work(3).ops, 2 * 3 * 10 * 32);
}

TEST_F(Workload, HeadsAreProductsOfTheirOwn) {
  add("head_linear",
      "{dtype = \"f32\", heads = 4 : i64, k = 8 : i64, n = 16 : i64}", 2,
      {weight(0, 500)});
  EXPECT_EQ(work(0).ops, 2 * 2 * 4 * 8 * 16);
  EXPECT_EQ(work(0).type, Arithmetic::F32);
}

TEST_F(Workload, ATableIsReadByRows) {
  add("embed", "{dtype = \"bf16\", vocab = 50 : i64, width = 10 : i64}", 4,
      {weight(0, 1000)});
  EXPECT_EQ(work(0).weightBytes, 4 * 20);
  EXPECT_EQ(work(0).ops, 0);
}

TEST_F(Workload, ATableOfIntegersIsReadByRows) {
  // A scale and two words of integers per row.
  add("embed",
      "{dtype = \"int4\", group = 32 : i64, vocab = 50 : i64, width = 10 : "
      "i64}",
      4, {weight(0, 50 * 12)});
  EXPECT_EQ(work(0).weightBytes, 4 * 12);
  EXPECT_EQ(work(0).ops, 0);
}

TEST_F(Workload, ExpertsAreReadAsTheyAreChosen) {
  add("moe_gate_up",
      "{dtype = \"bf16\", experts = 8 : i64, inter = 4 : i64, k = 10 : i64, "
      "top_k = 2 : i64}",
      2, {weight(0, 800)});
  add("moe_route", "{experts = 8 : i64, top_k = 2 : i64}", 2, {weight(1, 32)});
  EXPECT_EQ(work(0).weightBytes, 350);
  EXPECT_EQ(work(0).ops, 2 * 2 * 2 * 10 * 8);
  // A router's bias is not a stack.
  EXPECT_EQ(work(1).weightBytes, 32);
  EXPECT_TRUE(hasExperts(plan, all));
}

TEST_F(Workload, AttentionReadsTheContextOfEverySlot) {
  const char *config = "{dk = 4 : i64, dtype = \"bf16\", dv = 2 : i64, "
                       "kv_heads = 1 : i64, q_heads = 3 : i64, window = 0 : "
                       "i64}";
  Place pages{schema::Space::Kv, 0, {1, 0}, {}};
  add("attention", config, 8, {pages});
  add("kv_append", "{width = 6 : i64}", 8, {pages});
  Work w = work(0, /*batch=*/2, /*context=*/100);
  EXPECT_EQ(w.kvBytes, 2 * 100 * 6 * 2);
  EXPECT_EQ(w.ops, 2 * 8 * 100 * 3 * (4 + 2));
  EXPECT_EQ(work(1).kvBytes, 0);
}

TEST_F(Workload, AWindowEndsTheContext) {
  add("attention",
      "{dk = 4 : i64, dtype = \"bf16\", dv = 2 : i64, kv_heads = 1 : i64, "
      "q_heads = 3 : i64, window = 16 : i64}",
      1, {Place{schema::Space::Kv, 0, {}, {}}});
  EXPECT_EQ(work(0, 1, 100).kvBytes, 16 * 6 * 2);
  EXPECT_EQ(work(0, 1, 5).kvBytes, 5 * 6 * 2);
}

TEST_F(Workload, AWeightThatManyCommandsBindCountsOnce) {
  add("linear", "{}", 1, {weight(0, 1000), weight(2, 8)});
  add("linear", "{}", 1, {weight(2, 4000)});
  finish();
  EXPECT_EQ(boundWeightBytes(plan, all), 5000u);
  EXPECT_FALSE(hasExperts(plan, all));
}

TEST_F(Workload, ARoundHasPhases) {
  for (const char *kind :
       {"control", "linear_argmax", "mtp.sample_parts", "control", "linear",
        "mtp.sample", "control", "linear_argmax", "mtp.sample_scan",
        "mtp.sample_join", "control"})
    add(kind, "{}", 1, {});
  finish();
  EXPECT_EQ(phasesOf(plan, all),
            (std::vector<std::string>{"draft 1", "draft 1", "draft 1",
                                      "draft 2", "draft 2", "draft 2", "verify",
                                      "verify", "accept", "accept", "accept"}));
}

TEST_F(Workload, WhatRequestsAskForIsNoneOfARound) {
  add("linear", "{}", 1, {weight(0, 1000)});
  add("sample", "{}", 1, {});
  add("linear", "{}", 1, {weight(2, 4000)});
  finish();
  all.onRequest = 2;
  EXPECT_EQ(phasesOf(plan, all),
            (std::vector<std::string>{"verify", "accept"}));
  uint64_t own = boundWeightBytes(plan, all);
  all.onRequest = 0;
  EXPECT_LT(own, boundWeightBytes(plan, all));
}

TEST_F(Workload, AGpusSamplersHaveNoPrefix) {
  for (const char *kind : {"linear_argmax", "sample", "linear", "linear_argmax",
                           "sample_scan", "sample_join", "control"})
    add(kind, "{}", 1, {});
  finish();
  EXPECT_EQ(phasesOf(plan, all),
            (std::vector<std::string>{"draft 1", "draft 1", "verify", "verify",
                                      "accept", "accept", "accept"}));
}

TEST_F(Workload, APrefillFillsTheDrafterBehindThePick) {
  all.kind = schema::ProgramKind::Prefill;
  for (const char *kind : {"linear", "mtp.sample_parts", "linear", "control"})
    add(kind, "{}", 1, {});
  finish();
  EXPECT_EQ(
      phasesOf(plan, all),
      (std::vector<std::string>{"target", "target", "drafter", "drafter"}));
}
