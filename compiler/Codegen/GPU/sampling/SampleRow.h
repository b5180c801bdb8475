//===- SampleRow.h - The row of logits that a block samples -----*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H
#define MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H

#include "compiler/Codegen/GPU/sampling/SampleMath.h"

namespace mtp::codegen {

/// Buckets of a row or a stretch, in shared memory: sums of weights (i64),
/// counts (i32) and best picks (i64).
struct SampleBuckets {
  SampleBuckets(GpuBuilder &kb);

  Value weights, counts, picks;
};

/// Parameters that all kinds of sampling share.
struct SampleParams {
  int64_t vocab, parts, slots;
  bool isMapped;

  template <typename KernelT>
  explicit SampleParams(KernelT kernel)
      : vocab(kernel.getVocab()), parts(kernel.getParts()),
        slots(kernel.getSlots()), isMapped(kernel.getMapped()) {}
};

/// Buffers, sampling words and law of a row. Values are uniform.
class SampleRow {
public:
  SampleRow(GpuBuilder &kb, const SampleParams &params, Value row);

  SampleMath &math() { return values; }
  const SampleLaw &law() const { return sharedLaw; }
  int64_t vocab() const { return vocabulary; }

  /// Returns the buffer number `index` after the sampling words.
  Value outputBuffer(int64_t index) { return kb.buffer(firstOutput + index); }
  Value isPadding();

  /// Returns the token of the best logit (i32), or -1 if there is none. Must be
  /// called first.
  Value findBest();
  /// Returns true if there is anything to draw. Must be called after
  /// `findBest`.
  Value isDrawn();
  /// Reads the law. Must be called after `isDrawn`.
  void readLaw();
  /// Returns true if a filter compares tokens with each other, and the
  /// parameters of the filters. Must be called after `readLaw`.
  Value usesBuckets() { return kb.bitOr(usesTopK, usesTopP); }
  Value usesTopK, usesTopP, topK, topP;

  Value loadLogit(Value column);
  Value loadToken(Value column);

  /// Returns the thread's best pick of columns [begin, end) and the best token.
  /// If `isBucketed`, adds the columns to the buckets instead.
  Value scan(Value begin, Value end, Value isBucketed,
             const SampleBuckets &buckets);

private:
  Value sampling(int64_t word, mlir::Type type);
  /// Returns the best of `count` values. Of equal values, the smaller
  /// `numberOf` wins.
  Value bestOf(Value pointer, int64_t count,
               llvm::function_ref<Value(Value)> numberOf);
  Values loadColumns(Value first, Value end);
  /// Returns the thread's best pick after the columns seen so far.
  Value takeColumns(Value first, Value winner, mlir::ValueRange distances,
                    Value nearest, Value isBucketed,
                    const SampleBuckets &buckets);
  Value takePick(Value pick, Value winner, Value distance, Value isBucketed,
                 const SampleBuckets &buckets);

  GpuBuilder &kb;
  SampleMath values;
  SampleLaw sharedLaw;
  int64_t vocabulary, parts, firstOutput;
  bool isMapped;
  Value row, logits, tokens, words, position, bestLogit, bestToken;
};

/// Adds to a value in shared memory, or raises it to a larger one. Returns the
/// previous value.
Value addShared(GpuBuilder &kb, Value pointer, Value value);
Value raiseShared(GpuBuilder &kb, Value pointer, Value value);

/// Returns the best pick of a scanned row after top-k and top-p. `buckets` must
/// be complete.
Value pickOfBuckets(GpuBuilder &kb, SampleRow &row,
                    const SampleBuckets &buckets);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H
