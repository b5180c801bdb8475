//===- ExecVocabularyKernels.td - Kinds over rows of logits -*- tablegen -*-==//

#ifndef EXEC_VOCABULARY_KERNELS
#define EXEC_VOCABULARY_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

class Exec_RowNumber<string name, string kind>
    : Exec_Kernel<name, kind, 1, "Rows", (ins
        Exec_Size:$width, Exec_Stride:$x_stride)>;

def Exec_LogSumExpKernel : Exec_RowNumber<"LogSumExp", "log_sum_exp"> {
  let summary = "the logarithm of a row's sum of e^x";
  let description = "Buffers: x, y. A NaN counts as -infinity.";
}

def Exec_EntropyKernel : Exec_RowNumber<"Entropy", "entropy"> {
  let summary = "the entropy of a row's softmax";
  let description = "Buffers: x, y. A NaN counts as -infinity.";
}

def Exec_LogSoftmaxKernel : Exec_RowNumber<"LogSoftmax", "log_softmax"> {
  let summary = "the log-softmax of a row";
  let description = "Buffers: x, y. A NaN counts as -infinity.";
}

def Exec_SampleKeysKernel
    : Exec_Kernel<"SampleKeys", "sample_keys", 1, "Rows", (ins
        Exec_Size:$width, Exec_Flag:$mapped, Exec_Flag:$numbered,
        Exec_RowLimit:$slots)> {
  let summary = "sampling keys, whose largest is the pick";
  let description = [{
    Buffers: x, p, [tokens], slots, positions, [numbers], sampling, keys, sums.
    Tokens are present if columns are `mapped` to them, and numbers with
    `numbered`, one per row. A column whose p is 0 has -infinity.
  }];
}

def Exec_GatherColumnsKernel
    : Exec_Kernel<"GatherColumns", "gather_columns", 2, "Rows", (ins
        Exec_Size:$width, Exec_Size:$count, Exec_Flag:$packed,
        Exec_Stride:$x_stride)> {
  let summary = "elements of a row by their columns";
  let description = [{
    Buffers: x, [places], columns, y. A number beyond the columns means the
    nearest. Places are present with `packed`: they give the row of x for each
    row; the second param is the number of rows of x.
  }];
}

def Exec_TopKKernel : Exec_Kernel<"TopK", "top_k", 1, "Rows", (ins
    Exec_Size:$width, Exec_Size:$k, Exec_Stride:$x_stride,
    Exec_Flag:$summed)> {
  let summary = "a row's best columns and their log-probabilities";
  let description = [{
    Buffers: x, [sums], columns, logs. A logarithm is the element minus the
    row's sum: `sums` with `summed`, else the row's own log-sum-exp. Ties go to
    the lower column. NaN and -infinity are no candidates; after the last
    candidate columns are -1 and logs -infinity.
  }];
}

def Exec_ProbabilitiesKernel
    : Exec_Kernel<"Probabilities", "probabilities", 2, "Rows", (ins
        Exec_Size:$width, Exec_RowLimit:$slots)> {
  let summary = "the distribution that a row is sampled from";
  let description = [{
    Buffers: x, slots, sampling, y. The second param is the number of slots;
    each has the same number of rows, slot after slot.
  }];
}

def Exec_SampleResidualKernel
    : Exec_Kernel<"SampleResidual", "sample_residual", 3, "GatheredRows", (ins
        Exec_Size:$width, Exec_Flag:$less, Exec_Flag:$chosen,
        Exec_SizeOrNone:$packed)> {
  let summary = "a column sampled from the positive part of p - q";
  let description = [{
    Buffers: p, [places], [q], [at], uniforms, picks. q is present with `less`,
    at with `chosen`. The params after the picks are the rows of p and of q.
    With `chosen` each pick has a group of an equal number of these rows. With
    `packed` rows, places give the rows of p for each pick.
  }];
}

def Exec_MaskColumnsKernel
    : Exec_Kernel<"MaskColumns", "mask_columns", 1, "Rows", (ins
        Exec_Size:$width, Exec_SizeOrOne:$rows, Exec_Flag:$chosen,
        Exec_Stride:$x_stride, Exec_RowLimit:$slots)> {
  let summary = "rows with -infinity in the columns whose bits are 0";
  let description = [{
    Buffers: x, slots, [at], state, y. at is present with `chosen` and selects
    one of the state's `rows` rows of the slot. Bits are in words of 32, the
    lowest first.
  }];
}

#endif // EXEC_VOCABULARY_KERNELS
