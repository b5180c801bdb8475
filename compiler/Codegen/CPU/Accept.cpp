//===- Accept.cpp - Accept rules and the commit of a round ----------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;

/// How many of the first `k` drafts equal the picks, up to the first that
/// does not.
static Value agreedPrefix(KernelBuilder &kb, Value drafts, Value picks,
                          Value k) {
  auto agrees = [&](ValueRange state) {
    auto compare = [&] {
      return Values{kb.cmp(Cmp::EQ, kb.loadI32(drafts, state[0]),
                           kb.loadI32(picks, state[0]))};
    };
    auto end = [&] { return Values{kb.boolean(false)}; };
    return kb.choose(kb.cmp(Cmp::LT, state[0], k), compare, end)[0];
  };
  return kb.whileLoop({kb.integer(0)}, agrees, [&](ValueRange state) {
    return Values{kb.add(state[0], 1)};
  })[0];
}

/// buffers: drafts, picks, count, next. params: b, k.
static void emitAccept(KernelBuilder &kb, const KernelConfig &) {
  Value k = kb.param(1);
  kb.forTasks([&](Value i) {
    Value drafts = kb.at(kb.buffer(0), kb.mul(i, k), 4);
    Value picks = kb.at(kb.buffer(1), kb.mul(i, kb.add(k, 1)), 4);
    Value count = agreedPrefix(kb, drafts, picks, k);
    kb.storeI32(count, kb.buffer(2), i);
    kb.storeI32(kb.loadI32(picks, count), kb.buffer(3), i);
  });
}

/// The lowest node whose parent is `node` and whose token is `pick`, or n.
static Value findChild(KernelBuilder &kb, Value parents, Value tokens,
                       Value node, Value pick, Value n) {
  auto differs = [&](ValueRange state) {
    auto compare = [&] {
      Value parent = kb.loadI32(parents, state[0]);
      Value token = kb.loadI32(tokens, state[0]);
      return Values{kb.select(kb.cmp(Cmp::NE, parent, node), kb.boolean(true),
                              kb.cmp(Cmp::NE, token, pick))};
    };
    auto end = [&] { return Values{kb.boolean(false)}; };
    return kb.choose(kb.cmp(Cmp::LT, state[0], n), compare, end)[0];
  };
  return kb.whileLoop({kb.integer(1)}, differs, [&](ValueRange state) {
    return Values{kb.add(state[0], 1)};
  })[0];
}

/// Walks from node 0 to the child that was picked. buffers: parents, tokens,
/// picks, path, count, next. params: b, N.
static void emitAcceptTree(KernelBuilder &kb, const KernelConfig &) {
  Value n = kb.param(1), parents = kb.buffer(0);
  kb.forTasks([&](Value i) {
    Value base = kb.mul(i, n);
    Value tokens = kb.at(kb.buffer(1), base, 4);
    Value picks = kb.at(kb.buffer(2), base, 4);
    Value path = kb.at(kb.buffer(3), base, 4);
    kb.forRange(kb.integer(0), n, 1,
                [&](Value j) { kb.storeI32(kb.integer(-1), path, j); });
    // State: nodes on the path, the last of them, its picked child or n.
    auto childOf = [&](Value node) {
      return findChild(kb, parents, tokens, node, kb.loadI32(picks, node), n);
    };
    Value root = kb.integer(0);
    kb.storeI32(root, path, root);
    Values end = kb.whileLoop(
        {kb.integer(1), root, childOf(root)},
        // A path has a node at most once, unless somebody writes to parents.
        [&](ValueRange state) {
          return kb.bitAnd(kb.cmp(Cmp::LT, state[2], n),
                           kb.cmp(Cmp::LT, state[0], n));
        },
        [&](ValueRange state) {
          kb.storeI32(state[2], path, state[0]);
          return Values{kb.add(state[0], 1), state[2], childOf(state[2])};
        });
    kb.storeI32(kb.sub(end[0], 1), kb.buffer(4), i);
    kb.storeI32(kb.loadI32(picks, end[1]), kb.buffer(5), i);
  });
}

/// buffers: active, picks, drafts, target hidden, length, accepted, window,
/// hidden, out tokens, out count. params: b, k.
static void emitAcceptCommit(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), kmax1 = config.integer("kmax1");
  Value k = kb.param(1), rows = kb.add(k, 1);
  kb.forTasks([&](Value i) {
    Value slot =
        kb.clampIndex(kb.loadI32(kb.buffer(0), i), config.integer("slots"));
    Value picks = kb.at(kb.buffer(1), kb.mul(i, rows), 4);
    Value drafts = kb.at(kb.buffer(2), i, config.integer("kmax") * 4);
    Value accepted = agreedPrefix(kb, drafts, picks, k);
    Value emitted = kb.add(accepted, 1);
    Value length = kb.loadI32(kb.buffer(4), slot);
    kb.storeI32(kb.add(length, emitted), kb.buffer(4), slot);
    kb.storeI32(accepted, kb.buffer(5), slot);
    kb.storeI32(emitted, kb.buffer(9), slot);
    Value window = kb.at(kb.buffer(6), slot, kmax1 * 4);
    Value out = kb.at(kb.buffer(8), slot, kmax1 * 4);
    Value from = kb.at(kb.buffer(3), kb.mul(i, rows), width * 4);
    Value hidden = kb.at(kb.buffer(7), kb.mul(slot, kmax1), width * 4);
    kb.forRange(kb.integer(0), rows, 1, [&](Value j) {
      Value pick = kb.loadI32(picks, j);
      kb.storeI32(pick, window, j);
      kb.storeI32(pick, out, j);
      kb.copy(kb.at(from, j, width * 4), kb.at(hidden, j, width * 4), width);
    });
  });
}

static constexpr ConfigKey commitKeys[] = {{"width", ConfigKey::Int, true},
                                           {"kmax1", ConfigKey::Int, true},
                                           {"kmax", ConfigKey::Int, true},
                                           {"slots", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"accept", {}, emitAccept, taskPerRow},
    {"accept_tree", {}, emitAcceptTree, taskPerRow},
    {"accept_commit", commitKeys, emitAcceptCommit, taskPerRow}};

llvm::ArrayRef<KernelKind> mtp::codegen::acceptKernels() { return kinds; }
