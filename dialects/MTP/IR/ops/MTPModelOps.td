//===- MTPModelOps.td - Model operations -------------------*- tablegen -*-===//
//
// Ops of a layer that work row by row. Only gather_rows reads another row;
// attention has a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_MODEL_OPS_TD
#define MTP_MODEL_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

class MTP_ModelOp<string mnemonic, list<Trait> traits = []>
    : MTP_Op<mnemonic, !listconcat([Pure], traits)>;

/// An op over logits. Its columns stand for the tokens of a vocabulary, or for
/// the token of their own number.
class MTP_PickOp<string mnemonic, list<Trait> traits = []>
    : MTP_ModelOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def MTP_WeightsOp : MTP_Op<"weights", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "Name the files that hold the weights";
  let description = [{
    Paths are relative to the file that holds the module. An empty list means
    structure only: such a module compiles up to code generation. With
    `prefixes` the keys of a file begin with its prefix, so that the drafter's
    keys may equal the target's.

    ```mlir
    mtp.weights files ["hf/model.safetensors"]
    mtp.weights files ["hf/model.safetensors", "eagle/model.safetensors"]
                prefixes ["", "drafter."]
    ```

    Constraints:
    - (C1) at most one per module.
    - (C2) paths are relative, not empty, and do not climb with "..".
    - (C3) there is one prefix per file.
  }];
  let arguments = (ins StrArrayAttr:$files,
                       OptionalAttr<StrArrayAttr>:$prefixes);
  let assemblyFormat = "`files` $files (`prefixes` $prefixes^)? attr-dict";
  let hasVerifier = 1;
}

def MTP_ImportOp : MTP_Op<"import", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "Import functions from another file";
  let description = [{
    The path is relative to the file that holds the module. The named file is a
    module that verifies by itself. The functions become private functions of
    this module, together with the symbols that they use. Functions get another
    name if theirs is taken. Caches, states and vocabularies may also be
    declared here in the same form. The rest of the file is ignored. The reader
    of a file resolves this op, so passes never see it. A name in angle brackets
    is a file of the library that the tools ship (`compiler/Import/library`).

    ```mlir
    mtp.import "drafters/eagle.mlir" [@step, @keep]
    mtp.import "<lookup.mlir>" [@lookup]
    ```

    Constraints:
    - (C1) the path is relative, not empty, and does not climb with ".."; a name
      in angle brackets is not empty and has no "/".
    - (C2) at least one function is named, and each only once.
  }];
  let arguments = (ins StrAttr:$file, FlatSymbolRefArrayAttr:$functions);
  let assemblyFormat = "$file $functions attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the name in angle brackets, if there is one.
    std::optional<::llvm::StringRef> getLibraryName();
  }];
}

def MTP_WeightOp : MTP_ModelOp<"weight"> {
  let summary = "Read a weight by its key";
  let description = [{
    The key is relative to the prefix of the `mtp.apply` that calls the
    function; a key that starts with `/` is absolute. `rows` and `cols` select a
    half-open range of a matrix. `of` is the full number of rows or columns of
    the tensor, if known. A result with more rows takes the range from each of
    several equal blocks. `stack n` reads n matrices: by numbers in place of the
    `{}` in the key, or from one tensor. The result type is the type that the
    weight is stored in, independent of the type in the file.

    ```mlir
    %w = mtp.weight "self_attn.o_proj.weight" : tensor<192x128xbf16>
    %t = mtp.weight "/model.embed_tokens.weight" : tensor<4096x192xbf16>
    %h = mtp.weight "eh_proj.weight" cols 0 to 192 of 384 : tensor<192x192xbf16>
    %g = mtp.weight "mlp.experts.{}.gate_proj.weight" stack 8
         : tensor<8x64x192xbf16>
    ```

    Constraints:
    - (C1) the key is not empty and not just "/".
    - (C2) the result is static.
    - (C3) cols and rows are ranges of 0 <= begin < end.
    - (C4) cols: the last dimension is end - begin; rows: the dimension before
      it is end - begin, or b * (end - begin) if `of` has b blocks, the first
      with the range.
    - (C5) stack n: [n, N, K] and at most one "{}"; without it at most two
      dimensions and no "{}".
    - (C6) of is given only with a range, and is at least its end.
  }];
  let arguments = (ins StrAttr:$key,
                       OptionalAttr<I64Attr>:$row_begin,
                       OptionalAttr<I64Attr>:$row_end,
                       OptionalAttr<I64Attr>:$row_count,
                       OptionalAttr<I64Attr>:$col_begin,
                       OptionalAttr<I64Attr>:$col_end,
                       OptionalAttr<I64Attr>:$col_count,
                       OptionalAttr<I64Attr>:$stack);
  let results = (outs MTP_AnyWeight:$result);
  let assemblyFormat = [{
    $key (`rows` $row_begin^ `to` $row_end (`of` $row_count^)?)?
    (`cols` $col_begin^ `to` $col_end (`of` $col_count^)?)?
    (`stack` $stack^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_EmbedOp : MTP_ModelOp<"embed"> {
  let summary = "Look up the table row of every token";
  let description = [{
    ```mlir
    %e = mtp.embed %tokens, %table
         : tensor<?xi32>, tensor<4096x192xbf16> -> tensor<?x192xf32>
    ```

    A `scale` multiplies every row.

    Constraints:
    - (C1) one result row per token.
    - (C2) the result has the table's width.
    - (C3) the scale is finite and positive.
  }];
  let arguments = (ins MTP_Tokens:$tokens, MTP_WeightMatrix:$table,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $tokens `,` $table (`scale` $scale^)? attr-dict `:` type($tokens) `,`
    type($table) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_MaskFirstOp : MTP_ModelOp<"mask_first",
    [AllTypesMatch<["x", "result"]>]> {
  let summary = "Zero the rows at position 0";
  let description = [{
    In training a drafter never sees the embedding of a sequence's first token.
    Some families zero it.

    ```mlir
    %m = mtp.mask_first %e, %rows : tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_Rows:$rows);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$x `,` $rows attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def MTP_RmsNormOp : MTP_ModelOp<"rms_norm", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Normalise every row, or every group of columns, by its RMS";
  let description = [{
    `y = x / sqrt(mean(x^2) + eps) * (offset + weight)`. With `groups` every
    group of columns (a head) is normalised by itself, with the same weight.

    ```mlir
    %n = mtp.rms_norm %x, %w eps 1.0e-6 : tensor<?x192xf32>, tensor<192xbf16>
    %q = mtp.rms_norm %p, %u groups 4 eps 1.0e-6 offset 1
         : tensor<?x256xf32>, tensor<64xf32>
    ```

    Constraints:
    - (C1) eps is finite and positive; offset is 0 or 1.
    - (C2) groups is positive and groups * weight width = row width.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_WeightVector:$weight,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       F64Attr:$eps,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $weight (`groups` $groups^)? `eps` $eps (`offset` $offset^)?
    attr-dict `:` type($x) `,` type($weight)
  }];
  let hasVerifier = 1;
}

def MTP_ConcatOp : MTP_ModelOp<"concat"> {
  let summary = "Concatenate activations by columns";
  let description = [{
    ```mlir
    %eh = mtp.concat %e, %h
          : tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x384xf32>
    ```

    Constraints:
    - (C1) at least two operands, all with the result's number of rows.
    - (C2) the result's width is the sum of the operands' widths.
  }];
  let arguments = (ins Variadic<MTP_Activation>:$inputs);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:` type($inputs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_SliceOp : MTP_ModelOp<"slice"> {
  let summary = "Take a half-open range of columns";
  let description = [{
    ```mlir
    %c = mtp.slice %kv cols 0 to 64 : tensor<?x80xf32> -> tensor<?x64xf32>
    ```

    Constraints:
    - (C1) 0 <= begin < end <= the operand's width.
    - (C2) the result has the operand's number of rows and width end - begin.
  }];
  let arguments = (ins MTP_Activation:$x, I64Attr:$begin, I64Attr:$end);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `cols` $begin `to` $end attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_LinearOp : MTP_ModelOp<"linear"> {
  let summary = "Multiply rows by a transposed weight, and add a bias";
  let description = [{
    `y = x W^T + b`, the weight `[N, K]` as checkpoints store it.

    `role` marks a projection whose result is logits of tokens (`head`) or of
    experts (`router`), whatever other ops do to the logits before a pick.
    Quantisation treats heads and routers separately, and a head may draft from
    a part of the vocabulary. Without a role `mtp-convert-to-exec` infers it.

    ```mlir
    %q = mtp.linear %x, %w bias %b
         : tensor<?x192xf32>, tensor<256x192xbf16>, tensor<256xbf16>
         -> tensor<?x256xf32>
    %logits = mtp.linear %h, %head role head
              : tensor<?x192xf32>, tensor<4096x192xbf16> -> tensor<?x4096xf32>
    ```

    Constraints:
    - (C1) the operand's width is the weight's K.
    - (C2) the result has the operand's number of rows and the weight's N.
    - (C3) the bias has width N.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_WeightMatrix:$weight,
                       Optional<MTP_WeightVector>:$bias,
                       OptionalAttr<MTP_ProjectionRoleAttr>:$role);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? (`role` `` $role^)? attr-dict
    `:` type($x) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_AddOp : MTP_ModelOp<"add", [SameOperandsAndResultType]> {
  let summary = "Add two activations";
  let description = [{
    ```mlir
    %y = mtp.add %x, %o : tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$lhs, MTP_Activation:$rhs);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_SwigluOp : MTP_ModelOp<"swiglu", [SameOperandsAndResultType]> {
  let summary = "Gate one activation by the SiLU of another";
  let description = [{
    `y = silu(gate) * up`.

    ```mlir
    %y = mtp.swiglu %gate, %up : tensor<?x512xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$gate, MTP_Activation:$up);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_GegluTanhOp
    : MTP_ModelOp<"geglu_tanh", [SameOperandsAndResultType]> {
  let summary = "Gate one activation by the GELU of another";
  let description = [{
    `y = gelu(gate) * up` with the tanh approximation of the GELU:
    `gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.

    ```mlir
    %y = mtp.geglu_tanh %gate, %up : tensor<?x512xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$gate, MTP_Activation:$up);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_SiluOp : MTP_ModelOp<"silu", [SameOperandsAndResultType]> {
  let summary = "Apply the SiLU to an activation";
  let description = [{
    `y = x / (1 + e^-x)`.

    ```mlir
    %y = mtp.silu %x : tensor<?x512xf32>
    ```

    Constraints:
    - (C1) the width is static.
  }];
  let arguments = (ins MTP_Activation:$x);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def MTP_ApplyOp : MTP_Op<"apply",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Call a function with a weight prefix and a cache layer";
  let description = [{
    Like `func.call`, with three additions: the prefix of the callee's relative
    weight keys, the cache layer of its attention, and the recurrence layer of
    its recurrent ops. Prefixes nest: an apply inside the callee appends its own
    prefix, unless that starts with `/`. An apply without a cache uses its
    caller's cache; the same holds for the memory. The types of this op may fix
    extents that the callee leaves open (`tensor<?x?xf32>`).

    ```mlir
    %y = mtp.apply @dense_layer(%x, %rows) weights "model.layers.0."
         cache @target[0] : (tensor<?x192xf32>, !mtp.rows) -> tensor<?x192xf32>
    %z = mtp.apply @linear_layer(%y, %rows) weights "model.layers.1."
         memory @memory[0] : (tensor<?x192xf32>, !mtp.rows) -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the callee is a func.func of this module.
    - (C2) operand and result types are the callee's, except for extents that
      the callee leaves open.
    - (C3) the cache is an mtp.cache of this module that has the layer.
    - (C4) the memory is an mtp.recurrence of this module that has the layer.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyType>:$inputs,
                       DefaultValuedStrAttr<StrAttr, "">:$prefix,
                       OptionalAttr<FlatSymbolRefAttr>:$cache,
                       OptionalAttr<I64Attr>:$layer,
                       OptionalAttr<FlatSymbolRefAttr>:$memory,
                       OptionalAttr<I64Attr>:$memory_layer);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` (`weights` $prefix^)?
    (`cache` $cache^ `[` $layer `]`)?
    (`memory` $memory^ `[` $memory_layer `]`)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def MTP_ArgmaxOp : MTP_PickOp<"argmax"> {
  let summary = "Pick the column with the largest value";
  let description = [{
    Ties go to the lowest column; NaN never wins. With `tokens` the result is
    the token of the column.

    ```mlir
    %t = mtp.argmax %logits : tensor<?x4096xf32> -> tensor<?xi32>
    %t = mtp.argmax %few tokens @frequent : tensor<?x64xf32> -> tensor<?xi32>
    ```

    Constraints:
    - (C1) one result per row.
    - (C2) tokens is an mtp.vocabulary with one token per column; in a round
      they are tokens of its mtp.verify, if there is one.
  }];
  let arguments = (ins MTP_Activation:$x,
                       OptionalAttr<FlatSymbolRefAttr>:$tokens);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = [{
    $x (`tokens` $tokens^)? attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_GatherRowsOp : MTP_ModelOp<"gather_rows"> {
  let summary = "Gather rows by index";
  let description = [{
    ```mlir
    %y = mtp.gather_rows %x, %last
         : tensor<?x192xf32>, tensor<?xi32> -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) one result row per index, of the operand's width.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_Tokens:$index);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $index attr-dict `:` type($x) `,` type($index) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_MaskTokensOp
    : MTP_PickOp<"mask_tokens", [AllTypesMatch<["logits", "result"]>]> {
  let summary = "Set the logit of one token per row to -infinity";
  let description = [{
    The logit of the row's token becomes -infinity. A token that has no column
    changes nothing. A pick from the result is the next best token: use it for
    siblings in a tree of drafts.

    ```mlir
    %rest = mtp.mask_tokens %logits, %best : tensor<?x4096xf32>, tensor<?xi32>
    %rest = mtp.mask_tokens %few, %best tokens @frequent
            : tensor<?x64xf32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) one token per row.
    - (C2) see argmax (C2).
  }];
  let arguments = (ins MTP_Activation:$logits, MTP_Tokens:$excluded,
                       OptionalAttr<FlatSymbolRefAttr>:$tokens);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $logits `,` $excluded (`tokens` $tokens^)? attr-dict
    `:` type($logits) `,` type($excluded)
  }];
  let hasVerifier = 1;
}

def MTP_SampleOp : MTP_PickOp<"sample"> {
  let summary = "Pick a token per row with the slot's sampling parameters";
  let description = [{
    The result is a function of the row's logits, the slot's parameters and
    seed, and the position. At temperature 0 it is the argmax. With `tokens` a
    column stands for a token and has the noise of that token. If a row has no
    value above -infinity, the pick is -1; with noise by a number it is column
    0, as in argmax.

    Rows at the same position have the same noise, in every round that picks
    them. A rule that looks at drafts after the last accepted one must not find
    the same drafts again in the next round, which drafts the same positions.
    The drafts of such a rule have noise by the position of the anchor and an
    index.

    With `number` the noise goes by the position of `rows` and the row's number,
    which distinguishes several rows of one position; -1 is the noise of the
    position itself. With `anchored` position and number follow from the row. In
    a round they are the anchor's position and the distance of the row from the
    anchor. In a prefill, whose last row picks as the anchor does, they are the
    row's own position and 0.

    ```mlir
    %t = mtp.sample %logits, %rows : tensor<?x4096xf32> -> tensor<?xi32>
    %t = mtp.sample %few, %rows tokens @frequent
         : tensor<?x64xf32> -> tensor<?xi32>
    %t = mtp.sample %logits, %rows anchored
         : tensor<?x4096xf32> -> tensor<?xi32>
    %t = mtp.sample %logits, %anchors number %i
         : tensor<?x4096xf32>, tensor<?xi32> -> tensor<?xi32>
    ```

    Constraints:
    - (C1) one result per row.
    - (C2) see argmax (C2).
    - (C3) there is one number per row, and none with anchored.
  }];
  let arguments = (ins MTP_Activation:$logits, MTP_Rows:$rows,
                       Optional<MTP_Tokens>:$number,
                       OptionalAttr<FlatSymbolRefAttr>:$tokens,
                       UnitAttr:$anchored);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = [{
    $logits `,` $rows (`anchored` $anchored^)? (`number` $number^)?
    (`tokens` $tokens^)? attr-dict
    `:` type($logits) (`,` type($number)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_MakeRowsOp : MTP_ModelOp<"make_rows",
    [AllTypesMatch<["slots", "positions"]>]> {
  let summary = "Describe rows by slot and position";
  let description = [{
    The regions of a round get their rows as an argument. Ops outside of regions
    make their own rows.

    ```mlir
    %rows = mtp.make_rows %slots, %positions : tensor<4xi32>
    ```

    Constraints: operand types are equal.
  }];
  let arguments = (ins MTP_Tokens:$slots, MTP_Tokens:$positions);
  let results = (outs MTP_Rows:$rows);
  let assemblyFormat = "$slots `,` $positions attr-dict `:` type($slots)";
}

def MTP_MakeTreeRowsOp : MTP_ModelOp<"make_tree_rows",
    [AllTypesMatch<["slots", "positions", "roots", "places"]>]> {
  let summary = "Describe rows that see some rows of a window";
  let description = [{
    A row has a position (for its rotation), a place in the cache, the place of
    its window's first row (the root), and a mask. It sees the slot's entries
    before the root. In the window it sees the places root + j for the bits j of
    the mask, which include its own. Every row has its own numbers, which do not
    depend on its index. The mask can describe a chain, a tree, branches, and
    rows that all see each other.

    A row sees entries in the order of their places, with the same bits as in a
    chain of these entries. The `window` of `mtp.cached_attention` counts along
    that order. Padding rows have -1 and a mask of 0.

    `refreshed` says that no later round reads the entries of these rows: the
    next round runs the rows of the accepted path again, as `mtp.draft_tree`
    does. For other rows a commit moves the entries from their places to their
    positions.

    ```mlir
    %rows = mtp.make_tree_rows %slots, %positions from %roots at %places
            seeing %masks : tensor<6xi32>, tensor<6xi64>
    ```

    Constraints:
    - (C1) there is one mask per row.
  }];
  let arguments = (ins MTP_Tokens:$slots, MTP_Tokens:$positions,
                       MTP_Tokens:$roots, MTP_Tokens:$places,
                       MTP_Masks:$masks, UnitAttr:$refreshed);
  let results = (outs MTP_Rows:$rows);
  let assemblyFormat = [{
    $slots `,` $positions `from` $roots `at` $places custom<SeenMasks>($masks)
    (`refreshed` $refreshed^)? attr-dict `:` type($slots) `,` type($masks)
  }];
  let hasVerifier = 1;
}

#endif // MTP_MODEL_OPS_TD
