//===- ExecRowKernels.td - Kinds that work row by row ------*- tablegen -*-===//

#ifndef EXEC_ROW_KERNELS
#define EXEC_ROW_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_EmbedKernel : Exec_Kernel<"Embed", "embed", 1, "Rows", (ins
    Exec_Size:$width, Exec_Size:$vocab, Exec_WeightFormat:$format,
    Exec_Flag:$panels, Exec_RealOrNone:$scale)> {
  let summary = "rows of a table";
  let description = [{
    Buffers: table, tokens, y. For integers it writes integer times scale plus
    offset, rounded once, with the same bits on all instruction sets; the width
    need not be a multiple of the group. A token outside the table means the
    nearest. With `panels` the table is in panels of integers, of which token t
    is output t. `scale` multiplies the values.
  }];
}

class Exec_NumberedRows<string name, string kind>
    : Exec_Kernel<name, kind, 1, "Rows", (ins Exec_Size:$width)>;

def Exec_MaskFirstKernel : Exec_NumberedRows<"MaskFirst", "mask_first"> {
  let summary = "rows, with zeros at position 0";
  let description = "Buffers: x, positions, y.";
}

def Exec_MaskTokensKernel : Exec_NumberedRows<"MaskTokens", "mask_tokens"> {
  let summary = "logits with one token at -infinity";
  let description = "Buffers: x, tokens, y.";
}

def Exec_RmsNormKernel : Exec_Kernel<"RmsNorm", "rms_norm", 1, "Rows", (ins
    Exec_Size:$width, Exec_SizeOrOne:$groups, Exec_Real:$eps,
    Exec_NormOffset:$offset, Exec_Stride:$x_stride, Exec_Stride:$y_stride)> {
  let summary = "rows, or groups of columns, divided by their root mean square";
  let description = "Buffers: x, weight, y. `width` is the width of a group.";
  let methods = [{
    /// Returns the columns of all groups.
    int64_t getColumns() const { return getWidth() * getGroups(); }
  }];
}

def Exec_RoundRowsKernel : Exec_Kernel<"RoundRows", "round_rows", 1, "Rows",
    (ins Exec_Size:$width, Exec_Flag:$norm, Exec_RealOrNone:$eps,
         Exec_NormOffset:$offset, Exec_Stride:$x_stride)> {
  let summary = "rows rounded to bf16, optionally normalised";
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

def Exec_GegluTanhKernel : Exec_PairOfRows<"GegluTanh", "geglu_tanh"> {
  let summary = "gelu(a) * b";
  let description = "Buffers: gates, ups, y. The GELU has the tanh form.";
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

def Exec_GatherRowsKernel
    : Exec_Kernel<"GatherRows", "gather_rows", 2, "GatheredRows", (ins
        Exec_Size:$width, Exec_Stride:$x_stride)> {
  let summary = "rows selected by an index";
  let description = [{
    Buffers: x, index, y. The second param is the number of rows of x; a larger
    number means the nearest row.
  }];
}

def Exec_PackRowsKernel : Exec_Kernel<"PackRows", "pack_rows", 2, "Other", (ins
    Exec_SizeOrNone:$numbers, Exec_SizeOrNone:$masks)> {
  let summary = "active rows before padding rows";
  let description = [{
    Buffers: positions, `numbers` numbers of i32 and `masks` masks of i64 for
    each row, the packed form of each, places, live. The second param is the
    number of rows that there is room for; later rows become padding rows.
  }];
}

def Exec_PackPromptsKernel
    : Exec_Kernel<"PackPrompts", "pack_prompts", 3, "Other", (ins
        Exec_SizeOrNone:$numbers, Exec_SizeOrNone:$masks)> {
  let summary = "active rows before active prompt rows";
  let description = [{
    Buffers: positions, `numbers` numbers of i32 and `masks` masks of i64 for
    each row, the same buffers for prompts, the packed form of each, places,
    places of prompts, live. The second param is the number of prompt rows,
    which always have room; the third is the room for other rows.
  }];
}

def Exec_UnpackRowsKernel
    : Exec_Kernel<"UnpackRows", "unpack_rows", 2, "GatheredRows", (ins
        Exec_Size:$width, Exec_Flag:$is_numbers)> {
  let summary = "rows selected by places, or none";
  let description = [{
    Buffers: x, places, y. The second param is the number of rows of x; a larger
    place means the nearest row. A negative place gives a row of 0.0, or the
    number -1.
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
  let summary = "the best column among the best of each panel";
  let description = "Buffers: values, columns, picks.";
}

#endif // EXEC_ROW_KERNELS
