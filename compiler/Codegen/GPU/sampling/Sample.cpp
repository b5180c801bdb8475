//===- Sample.cpp - Kernels that pick tokens ------------------------------===//
//
// Kernels for the runtime's builtins (runtime/device/cpu/Builtins.cpp), with
// equal buffers and equal picks. A block has a row or, in a scan, a stretch of
// a row.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/sampling/SampleRow.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Bytes of a bucket in memory: its weight, its count and its best pick.
static constexpr int64_t kBucketBytes = 24;
static_assert(kBucketBytes * SampleMath::kBuckets ==
              ::mtp::kSampleStretchWords * 4);

/// Returns the number of threads of a block. It is small for a short row,
/// because the sums of the threads are joined.
static int64_t threadsOf(int64_t vocab, int64_t most) {
  return vocab <= 2048 ? 128 : most;
}

/// Returns a launch with a block for each row. A block takes at most half of a
/// processor, and a thread needs up to 107 registers. 256 threads may have 128
/// registers each.
template <typename KernelT>
static GpuLaunch rowLaunch(KernelT kernel) {
  return {1, 1, threadsOf(kernel.getVocab(), 256), /*blocksPerProcessor=*/2};
}

static GpuLaunch stretchLaunch(exec::SampleScanKernelAttr kernel) {
  return {::mtp::sampleStretches(kernel.getVocab()), 1,
          threadsOf(kernel.getVocab(), 512)};
}

/// Returns true if the thread has a bucket: each thread has at most one.
static Value isBucket(GpuBuilder &kb) {
  return kb.firstLanes(SampleMath::kBuckets);
}

static void clearBuckets(GpuBuilder &kb, const SampleBuckets &buckets) {
  Value mask = isBucket(kb), zero = kb.integer(0);
  kb.storeOwn(zero, kb.at(buckets.weights, kb.thread(), 8), mask);
  kb.storeOwn(kb.constant(kb.i32Type(), 0),
              kb.at(buckets.counts, kb.thread(), 4), mask);
  kb.storeOwn(zero, kb.at(buckets.picks, kb.thread(), 8), mask);
  kb.sync();
}

/// Writes the row's pick: 0 for a padding row, the best token if nothing is to
/// be drawn, else the result of `draw`, an i64 of key and token.
static void emitPick(GpuBuilder &kb, SampleRow &row, Value number, Value picks,
                     llvm::function_ref<Value()> draw) {
  Values pick = kb.choose(
      row.isPadding(), [&] { return Values{kb.constant(kb.i32Type(), 0)}; },
      [&] {
        Value best = row.findBest();
        return kb.choose(
            row.isDrawn(),
            [&] { return Values{row.math().tokenOfPick(draw())}; },
            [&] { return Values{best}; });
      });
  kb.storeOne(pick[0], kb.at(picks, number, 4));
}

/// Emits sample. Buffers: best values and their columns if there are parts,
/// logits, tokens if they are mapped, slots, positions, sampling, picks.
/// Params: M.
static void emitSample(GpuBuilder &kb, exec::SampleKernelAttr kernel) {
  kb.begin();
  Value number = kb.block();
  SampleRow row(kb, SampleParams(kernel), number);
  emitPick(kb, row, number, row.outputBuffer(0), [&] {
    row.readLaw();
    SampleBuckets buckets(kb);
    clearBuckets(kb, buckets);
    Value end = kb.integer(row.vocab());
    Value mine = row.scan(kb.integer(0), end, row.usesBuckets(), buckets);
    return kb.choose(
        row.usesBuckets(),
        [&] {
          kb.sync();
          return Values{pickOfBuckets(kb, row, buckets)};
        },
        [&] { return Values{row.math().largestOf(mine)}; })[0];
  });
}

/// Emits the scan of a sample. It has the buffers and params of emitSample,
/// with buckets in place of the picks.
static void emitScan(GpuBuilder &kb, exec::SampleScanKernelAttr kernel) {
  kb.begin();
  int64_t stretches = ::mtp::sampleStretches(kernel.getVocab());
  SampleRow row(kb, SampleParams(kernel), kb.div(kb.block(), stretches));
  SampleMath &math = row.math();
  Value found =
      kb.at(row.outputBuffer(0), kb.block(), ::mtp::kSampleStretchWords * 4);
  auto scan = [&] {
    row.readLaw();
    SampleBuckets buckets(kb);
    clearBuckets(kb, buckets);
    Value first = kb.mul(kb.rem(kb.block(), stretches), ::mtp::kSampleStretch);
    Value end =
        kb.min(kb.add(first, ::mtp::kSampleStretch), kb.integer(row.vocab()));
    Value mine = row.scan(first, end, row.usesBuckets(), buckets);
    Value best = math.largestOf(mine);
    kb.ifElse(
        row.usesBuckets(),
        [&] {
          kb.sync();
          kb.ifThen(isBucket(kb), [&] {
            Value bucket = kb.at(found, kb.thread(), kBucketBytes);
            auto load = [&](Type type, Value from, int64_t bytes) {
              return kb.loadOwn(type, kb.at(from, kb.thread(), bytes));
            };
            kb.storeOwn(load(kb.i64Type(), buckets.weights, 8), bucket);
            kb.storeOwn(kb.extendUnsigned(load(kb.i32Type(), buckets.counts, 4),
                                          kb.i64Type()),
                        kb.at(bucket, 8));
            kb.storeOwn(load(kb.i64Type(), buckets.picks, 8),
                        kb.at(bucket, 16));
          });
        },
        [&] { kb.storeOne(best, kb.at(found, 16)); });
  };
  kb.ifThen(kb.cmp(Cmp::EQ, row.isPadding(), kb.boolean(false)), [&] {
    row.findBest();
    kb.ifThen(row.isDrawn(), scan);
  });
}

/// Adds up the buckets of the stretches of a row.
static void joinBuckets(GpuBuilder &kb, SampleMath &math, Value found,
                        int64_t stretches, const SampleBuckets &buckets) {
  kb.ifThen(isBucket(kb), [&] {
    Value zero = kb.integer(0);
    Value own = kb.at(found, kb.thread(), kBucketBytes);
    Values sums = kb.forRange(
        zero, kb.integer(stretches), 1, {zero, zero, zero},
        [&](Value stretch, ValueRange in) {
          Value bucket = kb.at(own, stretch, ::mtp::kSampleStretchWords * 4);
          auto load = [&](int64_t offset) {
            return kb.loadOwn(kb.i64Type(), kb.at(bucket, offset));
          };
          return Values{kb.add(in[0], load(0)), kb.add(in[1], load(8)),
                        math.larger(in[2], load(16))};
        });
    kb.storeOwn(sums[0], kb.at(buckets.weights, kb.thread(), 8));
    kb.storeOwn(kb.truncate(sums[1], kb.i32Type()),
                kb.at(buckets.counts, kb.thread(), 4));
    kb.storeOwn(sums[2], kb.at(buckets.picks, kb.thread(), 8));
  });
  kb.sync();
}

/// Emits the join of a sample's scans. It has the buffers and params of
/// emitScan, and picks.
static void emitJoin(GpuBuilder &kb, exec::SampleJoinKernelAttr kernel) {
  kb.begin();
  int64_t stretches = ::mtp::sampleStretches(kernel.getVocab());
  Value number = kb.block();
  SampleRow row(kb, SampleParams(kernel), number);
  SampleMath &math = row.math();
  Value found = kb.at(row.outputBuffer(0), number,
                      stretches * ::mtp::kSampleStretchWords * 4);
  emitPick(kb, row, number, row.outputBuffer(1), [&] {
    row.readLaw();
    return kb.choose(
        row.usesBuckets(),
        [&] {
          SampleBuckets buckets(kb);
          joinBuckets(kb, math, found, stretches, buckets);
          return Values{pickOfBuckets(kb, row, buckets)};
        },
        [&] {
          // Each stretch left one pick, in its first bucket.
          return kb.forRange(
              kb.integer(0), kb.integer(stretches), 1, {kb.integer(0)},
              [&](Value stretch, ValueRange in) {
                Value bucket =
                    kb.at(found, stretch, ::mtp::kSampleStretchWords * 4);
                Value pick = kb.loadOwn(kb.i64Type(), kb.at(bucket, 16));
                return Values{math.larger(in[0], pick)};
              });
        })[0];
  });
}

static const GpuEmitter kinds[] = {gpuEmitter(rowLaunch, emitSample),
                                   gpuEmitter(stretchLaunch, emitScan),
                                   gpuEmitter(rowLaunch, emitJoin)};

llvm::ArrayRef<GpuEmitter> codegen::gpuSampleKernels() { return kinds; }
