//===- ExecRowKernels.td - Kinds that go row by row --------*- tablegen -*-===//

#ifndef EXEC_ROW_KERNELS
#define EXEC_ROW_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_EmbedKernel : Exec_Kernel<"Embed", "embed", 1, "Rows", (ins
    Exec_Size:$width, Exec_Size:$vocab, Exec_WeightFormat:$format)> {
  let summary = "rows of a table";
  let description = [{
    Buffers: table, tokens, y. Of integers it writes integer times scale, the
    same bits on all instruction sets; the width need not be a multiple of the
    group. A token outside the table is taken for the nearest.
  }];
}

class Exec_NumberedRows<string name, string kind>
    : Exec_Kernel<name, kind, 1, "Rows", (ins Exec_Size:$width)>;

def Exec_MaskFirstKernel : Exec_NumberedRows<"MaskFirst", "mask_first"> {
  let summary = "rows, zeros at position 0";
  let description = "Buffers: x, positions, y.";
}

def Exec_ExcludeKernel : Exec_NumberedRows<"Exclude", "exclude"> {
  let summary = "logits without one token";
  let description = "Buffers: x, tokens, y.";
}

def Exec_RmsNormKernel : Exec_Kernel<"RmsNorm", "rms_norm", 1, "Rows", (ins
    Exec_Size:$width, Exec_SizeOrOne:$groups, Exec_Real:$eps,
    Exec_NormOffset:$offset, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "rows, or groups of columns, by their root mean square";
  let description = "Buffers: x, weight, y. `width` is that of a group.";
  let methods = [{
    /// Columns of all groups.
    int64_t getColumns() const { return getWidth() * getGroups(); }
  }];
}

def Exec_RoundRowsKernel : Exec_Kernel<"RoundRows", "round_rows", 1, "Rows",
    (ins Exec_Size:$width, Exec_Flag:$norm, Exec_RealOrNone:$eps,
         Exec_NormOffset:$offset, Exec_Stride:$x_stride)> {
  let summary = "rows of bf16, perhaps normed";
  let description = "Buffers: x, [norm], y.";
}

def Exec_AddBiasKernel : Exec_Kernel<"AddBias", "add_bias", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "rows plus a bias";
  let description = "Buffers: x, bias, y.";
}

class Exec_PairOfRows<string name, string kind>
    : Exec_Kernel<name, kind, 1, "Rows", (ins
        Exec_Size:$width, Exec_Stride:$a_stride, Exec_Stride:$b_stride,
        Exec_Stride:$y_stride)>;

def Exec_AddKernel : Exec_PairOfRows<"Add", "add"> {
  let summary = "the sum of two rows";
  let description = "Buffers: a, b, y.";
}

def Exec_SwigluKernel : Exec_PairOfRows<"Swiglu", "swiglu"> {
  let summary = "silu(a) * b";
  let description = "Buffers: gates, ups, y.";
}

def Exec_SiluKernel : Exec_Kernel<"Silu", "silu", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "x / (1 + e^-x)";
  let description = "Buffers: x, y.";
}

def Exec_ConcatKernel : Exec_Kernel<"Concat", "concat", 1, "Rows", (ins
    Exec_Size:$a_width, Exec_Size:$b_width, Exec_Stride:$a_stride,
    Exec_Stride:$b_stride, Exec_Stride:$y_stride)> {
  let summary = "two rows side by side";
  let description = "Buffers: a, b, y.";
}

def Exec_CopyColsKernel : Exec_Kernel<"CopyCols", "copy_cols", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride, Exec_Stride:$y_stride,
    Exec_Begin:$x_offset, Exec_Begin:$y_offset)> {
  let summary = "columns of rows";
  let description = "Buffers: x, y.";
}

def Exec_TakeRowsKernel
    : Exec_Kernel<"TakeRows", "take_rows", 2, "GatheredRows", (ins
        Exec_Size:$width, Exec_Stride:$x_stride)> {
  let summary = "rows by their numbers";
  let description = [{
    Buffers: x, index, y. The second param is how many rows x has; a number
    beyond them is taken for the nearest.
  }];
}

def Exec_PackRowsKernel : Exec_Kernel<"PackRows", "pack_rows", 2, "Other", (ins
    Exec_SizeOrNone:$numbers, Exec_SizeOrNone:$masks)> {
  let summary = "rows that live before those that do not";
  let description = [{
    Buffers: positions, so many numbers of i32 and masks of i64 for each row,
    all of that packed, places, live. The second param is how many rows there is
    room for; those behind them do not live.
  }];
}

def Exec_PackPromptsKernel
    : Exec_Kernel<"PackPrompts", "pack_prompts", 3, "Other", (ins
        Exec_SizeOrNone:$numbers, Exec_SizeOrNone:$masks)> {
  let summary = "rows that live before those of prompts that live";
  let description = [{
    Buffers: positions, so many numbers of i32 and masks of i64 for each row,
    the same of prompts, all of that packed, places, places of prompts, live.
    The second param is how many rows the prompts have, for which there is room
    in any case, the third for how many others there is.
  }];
}

def Exec_UnpackRowsKernel
    : Exec_Kernel<"UnpackRows", "unpack_rows", 2, "GatheredRows", (ins
        Exec_Size:$width, Exec_Flag:$is_numbers)> {
  let summary = "rows by their numbers, or none";
  let description = [{
    Buffers: x, places, y. The second param is how many rows x has; a place
    beyond them is taken for the nearest. Of a negative one a row is 0.0, of
    numbers -1.
  }];
}

def Exec_ArgmaxKernel : Exec_Kernel<"Argmax", "argmax", 1, "Rows", (ins
    Exec_Size:$width, Exec_Stride:$x_stride)> {
  let summary = "the column of the largest element";
  let description = [{
    Buffers: x, picks. Ties go to the lowest index; a NaN never wins; 0 if all
    are NaN.
  }];
}

def Exec_ArgmaxPartsKernel
    : Exec_Kernel<"ArgmaxParts", "argmax_parts", 1, "Rows",
                  (ins Exec_Size:$parts)> {
  let summary = "the same of what `linear_argmax` left of each panel";
  let description = "Buffers: values, columns, picks.";
}

#endif // EXEC_ROW_KERNELS
