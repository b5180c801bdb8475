//===- MTPCoreOps.td - Core ops of a round -----------------*- tablegen -*-===//
//
// The ops that draft, verify, accept and commit are expanded into. A method
// without a readable form is written in them. They cover the slots of a round,
// rows of states and activations, and the rows of a prompt. Decisions of a
// round are the code of `mtp.per_slot` (MTPControlOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CORE_OPS_TD
#define MTP_CORE_OPS_TD

include "dialects/MTP/IR/ops/MTPControlOps.td"
include "dialects/MTP/IR/MTPOpBase.td"

def MTP_KOp : MTP_Op<"k", [Pure, MTP_InControlBody]> {
  let summary = "Get the number of drafts that a round may accept";
  let description = [{
    The number of drafts of a chain, or the depth of a tree. A round is written
    once and instantiated for each k of the envelope, where the op becomes a
    constant. In a prefill the result is 0 if the program fills only the
    target's caches, and `max_k` if it also serves drafting.

    ```mlir
    %k = mtp.k
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MTP_NodesOp : MTP_Op<"nodes", [Pure, MTP_InControlBody]> {
  let summary = "Get the number of rows of a slot that a round verifies";
  let description = [{
    Counts the anchor and the drafts. The op becomes a constant when the round
    is instantiated: k + 1 for a chain; for a tree the number of nodes that the
    envelope's `max_nodes` and the depth k allow. A prefill has the number of a
    round with the same k.

    ```mlir
    %nodes = mtp.nodes
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MTP_SlotsOp : MTP_Op<"slots", [Pure]> {
  let summary = "Get the slots that a program runs";
  let description = [{
    In a round the result holds the active slots in the host's order, in a
    prefill the slot of each sequence of the chunk. No slot occurs twice. In a
    mixed batch `prompts` gives the slots of the prompts, as in a prefill.

    ```mlir
    %slots = mtp.slots : tensor<?xi32>
    %reading = mtp.slots prompts : tensor<?xi32>
    ```
  }];
  let arguments = (ins UnitAttr:$prompts);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = "(`prompts` $prompts^)? attr-dict `:` type($result)";
}

def MTP_PromptRowsOp : MTP_Op<"prompt_rows", [Pure]> {
  let summary = "Get the rows of a prefill's chunk";
  let description = [{
    Returns tokens and rows of a chunk of a prompt. With `ahead d` the token of
    a row is the token d places further on. A row is a padding row if its prompt
    has no such token. Module d of a drafter runs over these rows.

    ```mlir
    %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
    ```

    Constraints:
    - (C1) 0 <= ahead <= 16.
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$ahead);
  let results = (outs MTP_Tokens:$tokens, MTP_Rows:$rows);
  let assemblyFormat = "(`ahead` $ahead^)? attr-dict `:` type($tokens)";
  let hasVerifier = 1;
}

def MTP_RowSlotsOp : MTP_Op<"row_slots", [Pure]> {
  let summary = "Get the slot of each row";
  let description = [{
    A padding row has a slot, too. With the result, rows can read values of
    their slot, for example a bias to add to the logits of each row:

    ```mlir
    %slots = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.read_state @bias of %slots : tensor<?xi32> -> tensor<?x64xf32>
    %y = mtp.add %logits, %b : tensor<?x64xf32>
    ```
  }];
  let arguments = (ins MTP_Rows:$rows);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = "$rows attr-dict `:` type($result)";
}

def MTP_RowPositionsOp : MTP_Op<"row_positions", [Pure]> {
  let summary = "Get the position of each row";
  let description = [{
    The result is the position that rotation uses, and -1 for a padding row.

    ```mlir
    %at = mtp.row_positions %rows : tensor<?xi32>
    ```
  }];
  let arguments = (ins MTP_Rows:$rows);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = "$rows attr-dict `:` type($result)";
}

def MTP_ReshapeOp : MTP_Op<"reshape", [Pure]> {
  let summary = "Reshape between per-row and per-slot tensors";
  let description = [{
    Converts between one number per row, `tensor<?xi32>`, and n numbers per
    slot, `tensor<?xnxi32>`. The rows of a slot follow each other. Logits have
    the shapes `tensor<?xVxf32>` and `tensor<?xnxVxf32>`. Nothing is moved.

    ```mlir
    %rows = mtp.reshape %grid : tensor<?x3xi32> -> tensor<?xi32>
    %own = mtp.reshape %logits : tensor<?x64xf32> -> tensor<?x3x64xf32>
    ```

    A group of open size (`tensor<?x?xVxf32>`) gets the number of rows of a slot
    when the round is instantiated.

    Constraints:
    - (C1) element types are equal, and both have the same number of columns or
      none. One of the two has one more dimension, the groups; its single column
      may be one number per row. Or the types differ only in the number of rows.
    - (C2) static shapes have equal numbers of elements.
  }];
  let arguments = (ins TensorRankOf<[I32, I64, F32], [1, 2, 3]>:$x);
  let results = (outs TensorRankOf<[I32, I64, F32], [1, 2, 3]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MTP_PackOp : MTP_Op<"pack", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["tokens", "places"]>]> {
  let summary = "Move active rows in front of padding rows";
  let description = [{
    A row at a position that is not negative is active. Active rows and their
    tokens come first, in their order; the remaining rows are padding rows.
    `places` gives for every original row its new index, and -1 for a padding
    row. Ops on packed rows need not compute the padding rows. Active rows of
    prompts follow the slots' active rows and have places of their own.

    With `at_most` there is room for only that number of rows: the first active
    rows stay, and later ones are dropped. Rows of prompts have their own room.

    ```mlir
    %packed, %t, %places = mtp.pack %rows, %tokens : tensor<?xi32>
    %both, %u, %own, %theirs = mtp.pack %rows, %tokens prompts %more, %text
        : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
    %few, %v, %where = mtp.pack %rows, %tokens at_most 4
        : tensor<6xi32> -> tensor<4xi32>
    ```

    Constraints:
    - (C1) rows and tokens of prompts, and their places, are given together.
    - (C2) at_most is positive.
  }];
  let arguments = (ins MTP_Rows:$rows, MTP_Tokens:$tokens,
                       Optional<MTP_Rows>:$prompt_rows,
                       Optional<MTP_Tokens>:$prompt_tokens,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$at_most);
  let results = (outs MTP_Rows:$packed, MTP_Tokens:$packed_tokens,
                      MTP_Tokens:$places, Optional<MTP_Tokens>:$prompt_places);
  let assemblyFormat = [{
    $rows `,` $tokens (`prompts` $prompt_rows^ `,` $prompt_tokens)?
    (`at_most` $at_most^)? attr-dict `:`
    custom<PackTypes>(type($tokens), type($prompt_rows), type($prompt_tokens),
                      type($packed_tokens), type($places), type($prompt_places))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$rows,
                                 "::mlir::Value":$tokens)>,
                  OpBuilder<(ins "::mlir::Value":$rows,
                                 "::mlir::Value":$tokens,
                                 "::mlir::Value":$promptRows,
                                 "::mlir::Value":$promptTokens)>];
  let hasVerifier = 1;
}

def MTP_PromptValuesOp : MTP_Op<"prompt_values", [
    HasParent<"::mlir::mtp::RoundOp">]> {
  let summary = "Pass the values of a round's target pass to its prefill";
  let description = [{
    The operands replace the results of the prefill's `mtp.verify`: the logits
    of the prompt's last row, and the other results for all prompt rows.
    `mtp-expand-verify` writes the op, and `mtp-merge-prefill` removes it.

    ```mlir
    mtp.prompt_values %logits, %hidden, %rows
        : tensor<?x32xf32>, tensor<?x16xf32>, !mtp.rows
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def MTP_UnpackOp : MTP_Op<"unpack", [Pure]> {
  let summary = "Move the values of packed rows back to their original rows";
  let description = [{
    Gathers the rows of the operand (activations, or one number per row) that
    `places` lists. A padding row gets zeros, or the number -1.

    ```mlir
    %own = mtp.unpack %picks, %places
           : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
    ```

    Constraints:
    - (C1) one result row per place, with the operand's width and element type.
  }];
  let arguments = (ins TensorRankOf<[I32, F32], [1, 2]>:$x, MTP_Tokens:$places);
  let results = (outs TensorRankOf<[I32, F32], [1, 2]>:$result);
  let assemblyFormat = [{
    $x `,` $places attr-dict `:` type($x) `,` type($places) `->` type($result)
  }];
  let hasVerifier = 1;
}

class MTP_StateRowsOp<string mnemonic, list<Trait> traits>
    : MTP_Op<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def MTP_ReadStateOp : MTP_StateRowsOp<"read_state",
    [MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Copy rows of a state";
  let description = [{
    Reads the first `rows` rows of every slot from a state of f32 rows, slot by
    slot. The number of rows may follow from `mtp.k`; it is a constant when the
    round is instantiated. A slot may occur more than once: with the slots of
    `mtp.row_slots`, every row gets the state of its slot.

    ```mlir
    %h = mtp.read_state @hidden of %slots rows 3
         : tensor<?xi32> -> tensor<?x192xf32>
    %h = mtp.read_state @hidden of %slots rows %count
         : tensor<?xi32> -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the state exists, is per slot and of f32, and its rows have the
      result's width. A state of one dimension is one row.
    - (C2) rows is positive and at most the number of rows of the state.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, MTP_Tokens:$slots,
                       DefaultValuedAttr<I64Attr, "1">:$rows,
                       Optional<Index>:$count);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $state `of` $slots `` custom<RowCount>($rows, $count) attr-dict
    `:` type($slots) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "Type":$result, "StringRef":$state,
                                 "Value":$slots, "int64_t":$rows)>];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def MTP_WriteStateOp : MTP_StateRowsOp<"write_state",
    [MemoryEffects<[MemWrite<MTP_SlotResource>]>]> {
  let summary = "Copy rows into a state";
  let description = [{
    The rows of `x`, an equal number for each slot, become the first rows of the
    slot's state. `index` selects rows of `x` instead, n for each slot. A
    negative index leaves its row of the state as it is.
    ```mlir
    mtp.write_state %h, @hidden of %slots : tensor<?x192xf32>, tensor<?xi32>
    mtp.write_state %h[%last], @hidden of %slots
        : tensor<?x192xf32>[tensor<?xi32>], tensor<?xi32>
    ```

    Constraints:
    - (C1) the state is as in read_state (C1), with the operand's width.
    - (C2) an index has a row per slot; without an index, the number of rows of
      a static operand is a multiple of the number of slots.
    - (C3) the state has at least the number of rows that are written.
    - (C4) the state is no input.
    - (C5) see mtp.store (C5).
  }];
  let arguments = (ins MTP_Activation:$x,
                       Optional<TensorRankOf<[I32], [1, 2]>>:$index,
                       FlatSymbolRefAttr:$state, MTP_Tokens:$slots);
  let assemblyFormat = [{
    $x (`[` $index^ `]`)? `,` $state `of` $slots attr-dict
    `:` type($x) (`[` type($index)^ `]`)? `,` type($slots)
  }];
  let extraClassDeclaration = [{
    /// Returns the number of rows written for each slot; dynamic while unknown.
    int64_t getRowsPerSlot();
  }];
  let hasVerifier = 1;
}

def MTP_ConcatRowsOp : MTP_Op<"concat_rows", [Pure]> {
  let summary = "Join rows of two activations slot by slot";
  let description = [{
    For every slot the result has `heads` rows of the first operand, followed by
    `tails` rows of the second operand.

    ```mlir
    %y = mtp.concat_rows %carry rows 1, %h rows 3
         : tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the widths are equal and static.
    - (C2) both row numbers are positive. A static operand has a multiple of its
      row number. Both have rows for the same number of slots, and the result
      has the sum of the rows.
  }];
  let arguments = (ins MTP_Activation:$head, I64Attr:$head_rows,
                       MTP_Activation:$tail, I64Attr:$tail_rows);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $head `rows` $head_rows `,` $tail `rows` $tail_rows attr-dict
    `:` type($head) `,` type($tail) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_OutputOp : MTP_Op<"output", [
    MemoryEffects<[MemWrite<MTP_HostResource>]>]> {
  let summary = "Give the host a value of the program";
  let description = [{
    The host knows these outputs by name: `logits` (of the verified rows, or of
    the last row of each sequence of a chunk) and `picks` (the tokens picked
    from them). A round also has `tokens` (the tokens of its rows) and `path`
    (the nodes that a tree's tokens come from). `drafted`, an i32 per slot, is
    the number of drafts that a round could have accepted. A round without this
    output counts k drafts.

    With `for` the op declares an output under a name of the module's own, and
    requests may ask for it. `for slots` has a row for each slot of a round or
    each sequence of a chunk. `for tokens` has a row for each verified row, and
    in a chunk for the last row of each sequence. A request gets the rows of
    `for tokens` that its tokens come from. A row is one number or a fixed
    number of columns.

    ```mlir
    mtp.output "logits" %l : tensor<?x4096xf32>
    mtp.output "doubt" %d for tokens : tensor<?xf32>
    mtp.output "chosen" %c for slots : tensor<?x2xi32>
    ```

    Constraints:
    - (C1) with `for` the value is i32 or f32, of one dimension or of two with a
      static width.
    - (C2) an output that the host knows by name has no `for`.
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value,
                       OptionalAttr<MTP_OutputRowsAttr>:$of);
  let assemblyFormat = [{
    $name $value (`for` `` $of^)? attr-dict `:` type($value)
  }];
  let extraClassDeclaration = [{
    /// Returns the names of the outputs that the host knows.
    static ::llvm::ArrayRef<::llvm::StringLiteral> getHostNames();
  }];
  let hasVerifier = 1;
}

def MTP_AwaitHostOp : MTP_Op<"await_host", [
    HasParent<"::mlir::mtp::RoundOp">,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>,
                   MemRead<MTP_HostResource>, MemWrite<MTP_HostResource>]>]> {
  let summary = "Mark the point where the host can see the drafts";
  let description = [{
    A host that must see the drafts before they are verified, for example to
    apply a grammar, runs a round in two halves. After the first half the host
    gets the drafts, and the parents of a computed tree. It then writes new
    inputs of the slots, and the second half reads them. No op that reads or
    writes states moves across this op. If no sequence asks for it, the round
    runs as a whole.

    At k = 0 there are no drafts, and the op is removed.

    ```mlir
    mtp.await_host %drafts : tensor<?x?xi32>
    mtp.await_host %drafts parents %p : tensor<?x4xi32>, tensor<?x5xi32>
    ```

    Constraints:
    - (C1) it stands once in a round, at its top level, after the draft
      operation and before `mtp.verify`, if the round has them.
    - (C2) drafts and parents have a row for each slot.
  }];
  let arguments = (ins TensorRankOf<[I32], [2]>:$drafts,
                       Optional<TensorRankOf<[I32], [2]>>:$parents);
  let assemblyFormat = [{
    $drafts (`parents` $parents^)? attr-dict
    `:` type($drafts) (`,` type($parents)^)?
  }];
  let hasVerifier = 1;
}

#endif // MTP_CORE_OPS_TD
