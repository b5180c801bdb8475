//===- Round.cpp - Rows and state of a decode round -----------------------===//
//
// Integer code that turns the state of the slots into the rows of a round and
// back. Task i works on the i-th active slot. Words of the state: `length` n
// is the position of the anchor, `accepted` a the drafts taken in the last
// round, `window` the tokens that followed its rows; its rows began at
// position p0 = n - 1 - a.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;

static void forIndices(KernelBuilder &kb, Value count,
                       llvm::function_ref<void(Value)> body) {
  kb.forRange(kb.integer(0), count, 1, body);
}

/// The slot of the i-th active one.
static Value slotAt(KernelBuilder &kb, const KernelConfig &config, Value i) {
  return kb.clampIndex(kb.loadI32(kb.buffer(0), i), config.integer("slots"));
}

/// The pointer to row `row` of a matrix of 32-bit elements.
static Value rowAt(KernelBuilder &kb, int64_t buffer, Value row,
                   int64_t width) {
  return kb.at(kb.buffer(buffer), row, width * 4);
}

/// buffers: active, length, accepted, window, drafts, tokens, slots,
/// positions, last. params: b, k, d.
static void emitRefreshRows(KernelBuilder &kb, const KernelConfig &config) {
  int64_t kmax1 = config.integer("kmax1");
  Value k = kb.param(1), d = kb.param(2), rows = kb.add(k, d);
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value length = kb.loadI32(kb.buffer(1), slot);
    Value accepted = kb.clampIndex(kb.loadI32(kb.buffer(2), slot), kmax1);
    Value window = rowAt(kb, 3, slot, kmax1);
    Value drafts = rowAt(kb, 4, i, kmax1 - 1);
    Value first = kb.sub(kb.sub(length, accepted), d);
    Value newest = kb.sub(kb.add(accepted, d), 1);
    Value base = kb.mul(i, rows);
    forIndices(kb, rows, [&](Value j) {
      Value position = kb.add(first, j);
      Value live =
          kb.bitAnd(kb.cmp(Cmp::GE, position, 0), kb.cmp(Cmp::LE, j, newest));
      Value known = kb.cmp(Cmp::LE, j, accepted);
      Value draft = kb.sub(kb.sub(j, accepted), 1);
      auto token = [&](Value from, Value index) {
        return [&kb, from, index] { return Values{kb.loadI32(from, index)}; };
      };
      auto loadToken = [&] {
        return kb.choose(known, token(window, j), token(drafts, draft));
      };
      auto noToken = [&] { return Values{kb.integer(0)}; };
      Value row = kb.add(base, j);
      kb.storeI32(kb.choose(live, loadToken, noToken)[0], kb.buffer(5), row);
      kb.storeI32(slot, kb.buffer(6), row);
      kb.storeI32(kb.select(live, position, kb.integer(-1)), kb.buffer(7), row);
    });
    Value last = kb.min(newest, kb.sub(rows, 1));
    kb.storeI32(kb.add(base, last), kb.buffer(8), i);
  });
}

/// buffers: active, hidden, out. params: b, k.
static void emitRefreshHidden(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), kmax1 = config.integer("kmax1");
  Value rows = kb.add(kb.param(1), 1);
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value from = rowAt(kb, 1, kb.mul(slot, kmax1), width);
    Value to = rowAt(kb, 2, kb.mul(i, rows), width);
    forIndices(kb, rows, [&](Value j) {
      kb.copy(kb.at(from, j, width * 4), kb.at(to, j, width * 4), width);
    });
  });
}

/// carry[slot] = prev[i][accepted]; prev has `rows` rows per slot.
static void saveCarry(KernelBuilder &kb, Value i, Value slot, Value accepted,
                      int64_t prev, int64_t carry, Value rows, int64_t width) {
  Value row = kb.clampIndex(accepted, rows);
  kb.copy(rowAt(kb, prev, kb.add(kb.mul(i, rows), row), width),
          rowAt(kb, carry, slot, width), width);
}

/// buffers: active, accepted, carry, prev, out. params: b, k, d.
static void emitShiftHidden(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  Value rows = kb.add(kb.param(1), kb.param(2));
  Value prevRows = kb.sub(rows, 1);
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value out = rowAt(kb, 4, kb.mul(i, rows), width);
    Value prev = rowAt(kb, 3, kb.mul(i, prevRows), width);
    kb.copy(rowAt(kb, 2, slot, width), out, width);
    forIndices(kb, prevRows, [&](Value j) {
      kb.copy(kb.at(prev, j, width * 4), kb.at(out, kb.add(j, 1), width * 4),
              width);
    });
    saveCarry(kb, i, slot, kb.loadI32(kb.buffer(1), slot), /*prev=*/3,
              /*carry=*/2, prevRows, width);
  });
}

/// The rows that draft d is picked for: position n + d - 1 is that of the row
/// which will verify it, and a row's pick goes to the position behind it.
/// buffers: active, length, slots, positions. params: b, d.
static void emitDraftRows(KernelBuilder &kb, const KernelConfig &config) {
  Value before = kb.sub(kb.param(1), 1);
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value length = kb.loadI32(kb.buffer(1), slot);
    kb.storeI32(slot, kb.buffer(2), i);
    kb.storeI32(kb.add(length, before), kb.buffer(3), i);
  });
}

/// drafts[i][j] = picked[i]. buffers: picked, drafts. params: b, j.
static void emitPutDrafts(KernelBuilder &kb, const KernelConfig &config) {
  kb.forTasks([&](Value i) {
    kb.storeI32(kb.loadI32(kb.buffer(0), i),
                rowAt(kb, 1, i, config.integer("kmax")), kb.param(1));
  });
}

/// buffers: active, length, drafts, tokens, slots, positions.
/// params: b, j, step.
static void emitChainRows(KernelBuilder &kb, const KernelConfig &config) {
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value length = kb.loadI32(kb.buffer(1), slot);
    Value draft =
        kb.loadI32(rowAt(kb, 2, i, config.integer("kmax")), kb.param(1));
    kb.storeI32(draft, kb.buffer(3), i);
    kb.storeI32(slot, kb.buffer(4), i);
    kb.storeI32(kb.add(kb.sub(length, 1), kb.param(2)), kb.buffer(5), i);
  });
}

/// buffers: active, length, accepted, window, drafts, tokens, slots,
/// positions. params: b, k.
static void emitVerifyRows(KernelBuilder &kb, const KernelConfig &config) {
  Value k = kb.param(1), rows = kb.add(k, 1);
  kb.forTasks([&](Value i) {
    Value slot = slotAt(kb, config, i);
    Value length = kb.loadI32(kb.buffer(1), slot);
    Value accepted = kb.clampIndex(kb.loadI32(kb.buffer(2), slot),
                                   config.integer("kmax1"));
    Value drafts = rowAt(kb, 4, i, config.integer("kmax"));
    Value base = kb.mul(i, rows);
    Value anchor =
        kb.loadI32(rowAt(kb, 3, slot, config.integer("kmax1")), accepted);
    kb.storeI32(anchor, kb.buffer(5), base);
    forIndices(kb, k, [&](Value j) {
      kb.storeI32(kb.loadI32(drafts, j), kb.buffer(5),
                  kb.add(kb.add(base, j), 1));
    });
    forIndices(kb, rows, [&](Value j) {
      Value row = kb.add(base, j);
      kb.storeI32(slot, kb.buffer(6), row);
      kb.storeI32(kb.add(length, j), kb.buffer(7), row);
    });
  });
}

/// Splits the cache position of a tree's node into the position of its root and
/// a rotary position, the root's plus the node's depth. Dead rows give -1.
/// buffers: positions, depths, rotary, base, cachePositions. params: M, N.
static void emitTreeRows(KernelBuilder &kb, const KernelConfig &) {
  Value nodes = kb.param(1), dead = kb.integer(-1);
  kb.forTasks([&](Value row) {
    Value position = kb.loadI32(kb.buffer(0), row);
    Value node = kb.rem(row, nodes);
    Value live = kb.cmp(Cmp::GE, position, 0);
    Value base = kb.sub(position, node);
    Value rotary = kb.add(base, kb.loadI32(kb.buffer(1), node));
    kb.storeI32(kb.select(live, rotary, dead), kb.buffer(2), row);
    kb.storeI32(kb.select(live, base, dead), kb.buffer(3), row);
    kb.storeI32(kb.select(live, position, dead), kb.buffer(4), row);
  });
}

static constexpr ConfigKey kmax1Keys[] = {{"kmax1", ConfigKey::Int, true},
                                          {"slots", ConfigKey::Int, false}};
static constexpr ConfigKey slotsKeys[] = {{"slots", ConfigKey::Int, false}};
static constexpr ConfigKey putKeys[] = {{"kmax", ConfigKey::Int, true}};
static constexpr ConfigKey kmaxKeys[] = {{"kmax", ConfigKey::Int, true},
                                         {"slots", ConfigKey::Int, false}};
static constexpr ConfigKey widthKeys[] = {{"width", ConfigKey::Int, true},
                                          {"slots", ConfigKey::Int, false}};
static constexpr ConfigKey widthKmax1Keys[] = {
    {"width", ConfigKey::Int, true},
    {"kmax1", ConfigKey::Int, true},
    {"slots", ConfigKey::Int, false}};
static constexpr ConfigKey bothKmaxKeys[] = {{"kmax1", ConfigKey::Int, true},
                                             {"kmax", ConfigKey::Int, true},
                                             {"slots", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"refresh_rows", kmax1Keys, emitRefreshRows, taskPerRow},
    {"refresh_hidden", widthKmax1Keys, emitRefreshHidden, taskPerRow},
    {"shift_hidden", widthKeys, emitShiftHidden, taskPerRow},
    {"draft_rows", slotsKeys, emitDraftRows, taskPerRow},
    {"put_drafts", putKeys, emitPutDrafts, taskPerRow},
    {"chain_rows", kmaxKeys, emitChainRows, taskPerRow},
    {"verify_rows", bothKmaxKeys, emitVerifyRows, taskPerRow},
    {"tree_rows", {}, emitTreeRows, taskPerRow}};

llvm::ArrayRef<KernelKind> mtp::codegen::roundKernels() { return kinds; }
