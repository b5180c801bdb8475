//===- DeltaRule.cpp - The gated delta rule, row by row -------------------===//
//
// The columns of a head's state depend on each other only through the keys. A
// task takes a group of columns at a time. It loads them, applies the pending
// rows, and applies the run's rows that are not kept. Then it stores the state
// and applies the other rows without storing. Memory is thus read and written
// once for any number of rows. A row's operations and their order are equal in
// every run.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/SlotRun.h"

using namespace mtp::codegen;

namespace {

enum Buffer : int64_t { kQ, kK, kV, kDecay, kBeta, kMemory, kKept, kSlots };
constexpr RunBuffers kRunBuffers = {kSlots, kSlots + 1, kSlots + 2, kSlots + 3};
constexpr int64_t kY = kSlots + 4;

class DeltaRule {
public:
  DeltaRule(KernelBuilder &kb, exec::DeltaRuleKernelAttr kernel)
      : kb(kb), kernel(kernel), heads(kernel.getHeads()), dk(kernel.getDk()),
        dv(kernel.getDv()), decays(kernel.getDecays()),
        pitch(std::min(kb.lanes(), columns(kernel)) * 4) {}

  /// Returns the number of columns of the state that are in scratch at once.
  static int64_t columns(exec::DeltaRuleKernelAttr kernel) {
    return kernel.getTileColumns();
  }
  static int64_t scratch(exec::DeltaRuleKernelAttr kernel) {
    return kernel.getDk() * columns(kernel) * 4;
  }

  void emit() {
    kb.forTasks([&](Value task) {
      // The heads of a row are `rows` tasks apart. Only the tasks of a run's
      // first row do work, and threads share them.
      Value rows = kb.param(0), row = kb.rem(task, rows);
      head = kb.div(task, rows);
      forPaddingRowAt(kb, row, kRunBuffers, [&] {
        kb.forChunks(dv, [&](Value first, Value mask) {
          column = first;
          kb.storeLanes(zero(), valueAt(kY, kernel.getYStride(), row), mask);
        });
      });
      forRunAt(kb, row, kRunBuffers, kernel.getKept(), kernel.getSlots(),
               [&](const SlotRun &run) { emitRun(run); });
    });
  }

private:
  /// Decay factors of a head's state.
  struct Decay {
    /// Address of the factors of all rows of S, or of their common factor.
    Value first;
    /// The common factor, in every lane; null if each row has its own.
    Value ofAll;
  };

  Decay decayOf(Value first) {
    return {first, decays > 1 ? Value() : loadNumber(first)};
  }
  /// Returns the factor of row i of S.
  Value of(const Decay &decay, Value i) {
    return decay.ofAll ? decay.ofAll : loadNumber(kb.at(decay.first, i, 4));
  }

  void emitRun(const SlotRun &run) {
    int64_t count = columns(kernel);
    kb.forRange(kb.integer(0), kb.integer(dv), count, [&](Value begin) {
      kb.forChunks(count, [&](Value first, Value mask) {
        tile = kb.scratch();
        column = kb.add(begin, first);
        lanes = mask;
        emitColumns(run);
      });
    });
    // All old keys have been read at this point.
    kb.sync();
    kb.forRange(run.lead, run.count, 1, [&](Value i) {
      Value row = kb.add(run.first, i), index = kb.sub(i, run.lead);
      kb.copy(keyAt(kK, kernel.getKStride(), row), keptKey(run, index), dk);
      if (decays > 1)
        kb.copy(decayAt(row), keptDecay(run, index), decays);
      else
        kb.storeOne(kb.loadOne(kb.f32Type(), decayAt(row)),
                    keptDecay(run, index));
    });
  }

  void emitColumns(const SlotRun &run) {
    load(run);
    kb.forRange(kb.integer(0), run.pending, 1, [&](Value i) {
      Value u = loadLanes(kb.at(keptUpdate(run, i), column, 4));
      advance(keptKey(run, i), u, decayOf(keptDecay(run, i)));
    });
    kb.forRange(kb.integer(0), run.lead, 1,
                [&](Value i) { step(kb.add(run.first, i)); });
    store(run);
    kb.forRange(run.lead, run.count, 1, [&](Value i) {
      Value u = step(kb.add(run.first, i));
      kb.storeLanes(u, kb.at(keptUpdate(run, kb.sub(i, run.lead)), column, 4),
                    lanes);
    });
  }

  /// Computes one row: stores its output and advances the state. Returns its
  /// update.
  Value step(Value row) {
    Value key = keyAt(kK, kernel.getKStride(), row);
    Value query = keyAt(kQ, kernel.getQStride(), row);
    Decay decay = decayOf(decayAt(row));
    Value v = loadLanes(valueAt(kV, kernel.getVStride(), row));
    Value u = kb.mul(loadNumber(betaAt(row)), kb.sub(v, recall(key, decay)));
    Value y = advance(key, u, decay, query);
    kb.storeLanes(kb.mul(y, scale()), valueAt(kY, kernel.getYStride(), row),
                  lanes);
    return u;
  }

  /// Returns (decay * S)^T key. A common factor multiplies the sum instead.
  Value recall(Value key, const Decay &decay) {
    Value sum = kb.forRange(
        kb.integer(0), kb.integer(dk), 1, {zero()},
        [&](Value i, ValueRange sums) {
          Value s = loadLanes(tileAt(i));
          if (!decay.ofAll)
            s = kb.mul(of(decay, i), s);
          return Values{kb.fma(loadNumber(kb.at(key, i, 4)), s, sums[0])};
        })[0];
    return decay.ofAll ? kb.mul(decay.ofAll, sum) : sum;
  }

  /// Computes S = decay * S + key u^T. With a query, also returns S^T query.
  Value advance(Value key, Value u, const Decay &decay, Value query = {}) {
    Values sums = kb.forRange(
        kb.integer(0), kb.integer(dk), 1, query ? Values{zero()} : Values{},
        [&](Value i, ValueRange sum) {
          Value place = tileAt(i);
          Value s = kb.fma(loadNumber(kb.at(key, i, 4)), u,
                           kb.mul(of(decay, i), loadLanes(place)));
          kb.storeLanes(s, place, lanes);
          if (!query)
            return Values{};
          return Values{kb.fma(loadNumber(kb.at(query, i, 4)), s, sum[0])};
        });
    return query ? sums[0] : Value();
  }

  void load(const SlotRun &run) {
    forKeyColumns([&](Value i) {
      Value s = kb.choose(
          run.isFresh, [&] { return Values{zero()}; },
          [&] { return Values{loadLanes(memoryAt(run, i))}; })[0];
      kb.storeLanes(s, tileAt(i), lanes);
    });
  }

  void store(const SlotRun &run) {
    forKeyColumns([&](Value i) {
      kb.storeLanes(loadLanes(tileAt(i)), memoryAt(run, i), lanes);
    });
  }

  void forKeyColumns(llvm::function_ref<void(Value)> body) {
    kb.forRange(kb.integer(0), kb.integer(dk), 1, body);
  }

  //===--- Addresses ------------------------------------------------------===//

  /// Returns the address of row i of the tile, which has one column per lane.
  Value tileAt(Value i) { return kb.at(tile, i, pitch); }
  Value memoryAt(const SlotRun &run, Value i) {
    Value row = kb.add(kb.mul(kb.add(kb.mul(run.slot, heads), head), dk), i);
    return kb.at(kb.at(kb.buffer(kMemory), row, dv * 4), column, 4);
  }
  Value keptRow(const SlotRun &run, Value i) {
    Value row = kb.add(kb.mul(run.slot, kernel.getKept()), i);
    return kb.at(kb.buffer(kKept), row, kernel.getKeptWidth() * 4);
  }
  Value keptKey(const SlotRun &run, Value i) {
    return kb.at(keptRow(run, i), head, dk * 4);
  }
  Value keptUpdate(const SlotRun &run, Value i) {
    return kb.at(kb.at(keptRow(run, i), heads * dk * 4), head, dv * 4);
  }
  Value keptDecay(const SlotRun &run, Value i) {
    return kb.at(kb.at(keptRow(run, i), heads * (dk + dv) * 4), head,
                 decays * 4);
  }
  /// Returns the head's columns of a row of q or k, which heads may share.
  Value keyAt(int64_t buffer, int64_t stride, Value row) {
    int64_t keyHeads = kernel.getKeyHeads();
    Value start =
        kb.at(kb.buffer(buffer), row, strideOr(stride, keyHeads * dk) * 4);
    return kb.at(start, kb.div(head, heads / keyHeads), dk * 4);
  }
  /// Returns the lanes' columns of a row of v or y.
  Value valueAt(int64_t buffer, int64_t stride, Value row) {
    Value start =
        kb.at(kb.buffer(buffer), row, strideOr(stride, heads * dv) * 4);
    return kb.at(kb.at(start, head, dv * 4), column, 4);
  }
  Value decayAt(Value row) {
    return kb.at(kb.at(kb.buffer(kDecay), row, heads * decays * 4), head,
                 decays * 4);
  }
  Value betaAt(Value row) {
    return kb.at(kb.at(kb.buffer(kBeta), row, heads * 4), head, 4);
  }

  //===--- Values ---------------------------------------------------------===//

  Value zero() { return kb.constant(kb.f32Lanes(), 0); }
  Value scale() {
    return kb.constant(kb.f32Lanes(), valueOf(kernel.getScale()));
  }
  /// Loads a number into every lane.
  Value loadNumber(Value pointer) {
    return kb.splat(kb.loadOne(kb.f32Type(), pointer));
  }
  Value loadLanes(Value pointer) {
    return kb.loadLanes(kb.f32Type(), pointer, lanes);
  }

  KernelBuilder &kb;
  exec::DeltaRuleKernelAttr kernel;
  int64_t heads, dk, dv, decays;
  /// Bytes from one row of the tile to the next.
  int64_t pitch;
  Value head, tile, column, lanes;
};

} // namespace

/// Emits delta_rule. Buffers: q, k, v, decays, betas, memory, kept, slots,
/// positions, pending, keeps, y. Params: M.
static void emitDeltaRule(KernelBuilder &kb, exec::DeltaRuleKernelAttr kernel) {
  DeltaRule(kb, kernel).emit();
}

static const RowKernel kinds[] = {rowKernel(emitDeltaRule, DeltaRule::scratch)};

llvm::ArrayRef<RowKernel> mtp::codegen::deltaRuleKernels() { return kinds; }
