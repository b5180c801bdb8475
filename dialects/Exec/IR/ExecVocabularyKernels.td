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
  let summary = "the logarithms of a row's softmax";
  let description = "Buffers: x, y. A NaN counts as -infinity.";
}

def Exec_SampleKeysKernel
    : Exec_Kernel<"SampleKeys", "sample_keys", 1, "Rows", (ins
        Exec_Size:$width, Exec_Flag:$mapped, Exec_Flag:$numbered,
        Exec_RowLimit:$slots)> {
  let summary = "what sampling picks the largest of";
  let description = [{
    Buffers: x, p, [tokens], slots, positions, [numbers], sampling, keys, sums.
    There are tokens where columns are `mapped` to them, and a number for each
    row with `numbered`. Columns of which p is 0 have -infinity.
  }];
}

def Exec_GatherColumnsKernel
    : Exec_Kernel<"GatherColumns", "gather_columns", 2, "Rows", (ins
        Exec_Size:$width, Exec_Size:$count, Exec_Flag:$packed,
        Exec_Stride:$x_stride)> {
  let summary = "elements of a row by their columns";
  let description = [{
    Buffers: x, [places], columns, y. A number beyond the columns is taken for
    the nearest. There are places with `packed`, which say which row of x a row
    is; the second param is how many x has.
  }];
}

def Exec_TopKKernel : Exec_Kernel<"TopK", "top_k", 1, "Rows", (ins
    Exec_Size:$width, Exec_Size:$k, Exec_Stride:$x_stride,
    Exec_Flag:$summed)> {
  let summary = "a row's best columns and the logarithms of their shares";
  let description = [{
    Buffers: x, [sums], columns, logs. There are sums with `summed`, of which a
    logarithm is less than its element; else that is the row's own. Ties go to
    the lower column. A NaN or -infinity is no candidate; behind the last one
    columns are -1, logs -infinity.
  }];
}

def Exec_ProbabilitiesKernel
    : Exec_Kernel<"Probabilities", "probabilities", 2, "Rows", (ins
        Exec_Size:$width, Exec_RowLimit:$slots)> {
  let summary = "what a slot's parameters make of a row";
  let description = [{
    Buffers: x, slots, sampling, y. The second param is how many slots there
    are; each has as many rows, one slot's after the other's.
  }];
}

def Exec_PickResidualKernel
    : Exec_Kernel<"PickResidual", "pick_residual", 3, "GatheredRows", (ins
        Exec_Size:$width, Exec_Flag:$less, Exec_Flag:$chosen,
        Exec_SizeOrNone:$packed)> {
  let summary = "a column of what one row has more than another";
  let description = [{
    Buffers: p, [places], [q], [at], uniforms, picks. There is q with `less`,
    and at with `chosen`. The params behind the picks are the rows of p and of
    q, which `chosen` takes as groups, as many for each pick. Where there are
    `packed` rows of each pick, places say which rows of p they are.
  }];
}

def Exec_MaskColumnsKernel
    : Exec_Kernel<"MaskColumns", "mask_columns", 1, "Rows", (ins
        Exec_Size:$width, Exec_SizeOrOne:$rows, Exec_Flag:$chosen,
        Exec_Stride:$x_stride, Exec_RowLimit:$slots)> {
  let summary = "-infinity in the columns whose bits are 0";
  let description = [{
    Buffers: x, slots, [at], state, y. There is at with `chosen`, a row of the
    state's `rows` of the slot. Bits are in words of 32, the lowest first.
  }];
}

#endif // EXEC_VOCABULARY_KERNELS
