//===- Prefill.cpp - Rows and state of a prefill chunk --------------------===//
//
// A chunk is `count` rows of one slot, beginning at position `start` of a
// prompt of `total` tokens.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;

namespace {
struct ChunkInfo {
  /// A chunk has at most the rows of the program, and a slot is one of `slots`.
  ChunkInfo(KernelBuilder &kb, Value info, int64_t slots)
      : slot(kb.clampIndex(kb.loadI32(info, kb.integer(0)), slots)),
        start(kb.loadI32(info, kb.integer(1))),
        count(kb.min(kb.loadI32(info, kb.integer(2)), kb.param(0))),
        total(kb.loadI32(info, kb.integer(3))) {}

  Value slot, start, count, total;
};
} // namespace

/// buffers: info, prompt tokens, tokens, slots, positions, last.
/// params: C, d.
static void emitPrefillRows(KernelBuilder &kb, const KernelConfig &) {
  Value d = kb.param(1);
  kb.forTasks([&](Value) {
    ChunkInfo info(kb, kb.buffer(0), /*slots=*/0);
    // Row j needs the token d places on.
    Value known = kb.sub(kb.sub(info.total, info.start), d);
    Value live = kb.min(info.count, known);
    kb.forRange(kb.integer(0), kb.param(0), 1, [&](Value j) {
      Value isLive = kb.cmp(Cmp::LT, j, live);
      auto load = [&] {
        return Values{kb.loadI32(kb.buffer(1), kb.add(j, d))};
      };
      auto none = [&] { return Values{kb.integer(0)}; };
      kb.storeI32(kb.choose(isLive, load, none)[0], kb.buffer(2), j);
      kb.storeI32(info.slot, kb.buffer(3), j);
      kb.storeI32(kb.select(isLive, kb.add(info.start, j), kb.integer(-1)),
                  kb.buffer(4), j);
    });
    kb.storeI32(kb.sub(info.count, 1), kb.buffer(5), kb.integer(0));
  });
}

/// buffers: info, out of module d - 1, carry. params: C, d.
static void emitPrefillCarry(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  kb.forTasks([&](Value) {
    ChunkInfo info(kb, kb.buffer(0), config.integer("slots"));
    Value row = kb.sub(kb.sub(info.total, kb.param(1)), info.start);
    Value inChunk =
        kb.bitAnd(kb.cmp(Cmp::GE, row, 0), kb.cmp(Cmp::LT, row, info.count));
    kb.ifThen(inChunk, [&] {
      kb.copy(kb.at(kb.buffer(1), row, width * 4),
              kb.at(kb.buffer(2), info.slot, width * 4), width);
    });
  });
}

/// buffers: info, pick, target hidden, length, accepted, window, hidden,
/// out tokens, out count. params: C.
static void emitPrefillCommit(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), kmax1 = config.integer("kmax1");
  kb.forTasks([&](Value) {
    ChunkInfo info(kb, kb.buffer(0), config.integer("slots"));
    Value end = kb.add(info.start, info.count);
    kb.ifThen(kb.cmp(Cmp::EQ, end, info.total), [&] {
      Value zero = kb.integer(0), first = kb.mul(info.slot, kmax1);
      Value pick = kb.loadI32(kb.buffer(1), zero);
      kb.storeI32(info.total, kb.buffer(3), info.slot);
      kb.storeI32(zero, kb.buffer(4), info.slot);
      kb.storeI32(pick, kb.buffer(5), first);
      Value last = kb.clampIndex(kb.sub(info.count, 1), kb.param(0));
      kb.copy(kb.at(kb.buffer(2), last, width * 4),
              kb.at(kb.buffer(6), first, width * 4), width);
      kb.storeI32(pick, kb.buffer(7), first);
      kb.storeI32(kb.integer(1), kb.buffer(8), info.slot);
    });
  });
}

static constexpr ConfigKey carryKeys[] = {{"width", ConfigKey::Int, true},
                                          {"slots", ConfigKey::Int, false}};
static constexpr ConfigKey commitKeys[] = {{"width", ConfigKey::Int, true},
                                           {"kmax1", ConfigKey::Int, true},
                                           {"slots", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"prefill_rows", {}, emitPrefillRows, singleTask},
    {"prefill_carry", carryKeys, emitPrefillCarry, singleTask},
    {"prefill_commit", commitKeys, emitPrefillCommit, singleTask}};

llvm::ArrayRef<KernelKind> mtp::codegen::prefillKernels() { return kinds; }
