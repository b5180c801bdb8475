//===- SampleRow.h - The row of logits that a block samples -----*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H
#define COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H

#include "compiler/Codegen/GPU/sampling/SampleMath.h"

namespace mtp::codegen {

/// The buckets of a row or a stretch, in shared memory: sums of weights (i64),
/// counts (i32) and best picks (i64).
struct SampleBuckets {
  SampleBuckets(GpuBuilder &kb);

  Value weights, counts, picks;
};

/// What all kinds of sampling say.
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

  /// The buffer number `index` behind the sampling words.
  Value outputBuffer(int64_t index) { return kb.buffer(firstOutput + index); }
  Value isDead();

  /// The best logit's token (i32), -1 where there is none; to be called first.
  Value findBest();
  /// Whether there is anything to draw, behind `findBest`.
  Value isDrawn();
  /// Reads the law; behind `isDrawn`.
  void readLaw();
  /// Behind `readLaw`: whether a filter compares tokens with each other, and
  /// what they say.
  Value usesBuckets() { return kb.bitOr(usesTopK, usesTopP); }
  Value usesTopK, usesTopP, topK, topP;

  Value loadLogit(Value column);
  Value loadToken(Value column);

  /// The thread's best pick of columns [begin, end), at least the best token's.
  /// Where `isBucketed`, adds the columns to the buckets instead.
  Value scan(Value begin, Value end, Value isBucketed,
             const SampleBuckets &buckets);

private:
  Value sampling(int64_t word, mlir::Type type);
  /// The best of `count` values; the larger `numberOf` a column loses.
  Value bestOf(Value pointer, int64_t count,
               llvm::function_ref<Value(Value)> numberOf);
  Values loadColumns(Value first, Value end);
  /// The thread's best pick behind some columns.
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

/// Adds to a value in shared memory, or makes it the larger one; returns what
/// it was.
Value addShared(GpuBuilder &kb, Value pointer, Value value);
Value raiseShared(GpuBuilder &kb, Value pointer, Value value);

/// The best pick of a scanned row behind top-k and top-p. `buckets` are
/// complete.
Value pickOfBuckets(GpuBuilder &kb, SampleRow &row,
                    const SampleBuckets &buckets);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_SAMPLING_SAMPLEROW_H
