//===- MTPCoreOps.td - What a round is made of -------------*- tablegen -*-===//
//
// The ops that draft, verify, accept and commit are expanded into, and that a
// method which has no readable form is written in: which slots a round runs,
// rows of states and activations, the rows of a prompt. What a round decides is
// the code of `mtp.per_slot` (MTPControlOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CORE_OPS_TD
#define MTP_CORE_OPS_TD

include "dialects/MTP/IR/MTPControlOps.td"
include "dialects/MTP/IR/MTPOpBase.td"

def MTP_KOp : MTP_Op<"k", [Pure, MTP_InControlBody]> {
  let summary = "How many drafts a round may accept";
  let description = [{
    The drafts of a chain, of a tree its depth. A round is written once and
    instantiated for each k of the envelope, where this becomes a constant. In a
    prefill it is 0 where the program fills the
    target's caches alone, and `max_k` where it serves drafting, too.

    ```mlir
    %k = mtp.k
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MTP_NodesOp : MTP_Op<"nodes", [Pure, MTP_InControlBody]> {
  let summary = "The rows of a slot that a round verifies";
  let description = [{
    The anchor and the drafts, which are a constant once the round is
    instantiated: k + 1 of a chain; of a tree those that the envelope's
    `max_nodes` and the depth k leave. In a prefill what they are in a round of
    the same k.

    ```mlir
    %nodes = mtp.nodes
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def MTP_SlotsOp : MTP_Op<"slots", [Pure]> {
  let summary = "The slots that a program runs";
  let description = [{
    In a round the active slots, in the host's order; in a prefill the slot of
    each sequence of the chunk. No slot is there twice. In a round with prompts
    beside it, those of `prompts` are as a prefill's.

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
  let summary = "The rows of a prefill's chunk";
  let description = [{
    Tokens and rows of a chunk of a prompt; with `ahead d` the token of a row is
    the one d places further on, and a row whose prompt ends before that is
    dead. A drafter's module d runs over these.

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
  let summary = "The slot of each row";
  let description = [{
    A dead row has a slot, too. With it rows read what is per slot, as a bias
    that is added to the logits of each:

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
  let summary = "The position of each row";
  let description = [{
    That of its rotation, -1 of a dead row.

    ```mlir
    %at = mtp.row_positions %rows : tensor<?xi32>
    ```
  }];
  let arguments = (ins MTP_Rows:$rows);
  let results = (outs MTP_Tokens:$result);
  let assemblyFormat = "$rows attr-dict `:` type($result)";
}

def MTP_RegroupOp : MTP_Op<"regroup", [Pure]> {
  let summary = "The same numbers in other groups";
  let description = [{
    Between one number per row, `tensor<?xi32>`, and n of them per slot,
    `tensor<?xnxi32>`: the rows of a slot follow each other. So for logits:
    `tensor<?xVxf32>` and `tensor<?xnxVxf32>`. Nothing is moved.

    ```mlir
    %rows = mtp.regroup %grid : tensor<?x3xi32> -> tensor<?xi32>
    %own = mtp.regroup %logits : tensor<?x64xf32> -> tensor<?x3x64xf32>
    ```

    A group whose size is left open (`tensor<?x?xVxf32>`) has the rows of a
    slot, as soon as the round is instantiated.

    Constraints:
    - (C1) they have the same elements, and columns of the same number or none;
      one of the two has a dimension more, that of the groups. A column may be
      one number per row, too. Or the types differ in their rows alone.
    - (C2) static shapes have as many elements.
  }];
  let arguments = (ins TensorRankOf<[I32, I64, F32], [1, 2, 3]>:$x);
  let results = (outs TensorRankOf<[I32, I64, F32], [1, 2, 3]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def MTP_PackOp : MTP_Op<"pack", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["tokens", "places"]>]> {
  let summary = "Put the rows that live in front of the others";
  let description = [{
    Rows at a position that is not negative live. They and their tokens come
    first, in their order; behind them the rows are dead. `places` says of every
    row as it was where it is now, -1 of one that is dead. What is made of
    packed rows need not be computed for the dead ones. Rows of prompts that
    live come behind these, and have places of their own.

    Where `at_most` is given and the rows are more, there is room for so many:
    the first ones that live, and those behind them are dead. Rows of prompts
    have their own room.

    ```mlir
    %packed, %t, %places = mtp.pack %rows, %tokens : tensor<?xi32>
    %both, %u, %own, %theirs = mtp.pack %rows, %tokens prompts %more, %text
        : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
    %few, %v, %where = mtp.pack %rows, %tokens at_most 4
        : tensor<6xi32> -> tensor<4xi32>
    ```

    Constraints:
    - (C1) rows and tokens of prompts are both given, or neither, and their
      places with them.
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
  let summary = "What a round gives to the prefill beside it";
  let description = [{
    In place of the results of the prefill's `mtp.verify`: the logits of the
    prompt's last row, all else of all rows. `mtp-expand-verify` writes it, and
    `mtp-mix-prompts` takes it out.

    ```mlir
    mtp.prompt_values %logits, %hidden, %rows
        : tensor<?x32xf32>, tensor<?x16xf32>, !mtp.rows
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def MTP_UnpackOp : MTP_Op<"unpack", [Pure]> {
  let summary = "Put what packed rows have where the rows were";
  let description = [{
    The rows of the operand, activations or a number each, that `places` list;
    for a dead row zeros, or the number -1.

    ```mlir
    %own = mtp.unpack %picks, %places
           : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
    ```

    Constraints:
    - (C1) one result row per place, of the operand's width and elements.
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
    Of every slot the first `rows` rows of a state of f32 rows, one slot's after
    the other's. The number may follow from `mtp.k`; it is a constant when the
    round is instantiated. A slot may be named more than once: with the slots of
    `mtp.row_slots` every row gets its slot's.

    ```mlir
    %h = mtp.read_state @hidden of %slots rows 3
         : tensor<?xi32> -> tensor<?x192xf32>
    %h = mtp.read_state @hidden of %slots rows %count
         : tensor<?xi32> -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the state exists, is per slot, of f32, and a row has the result's
      width; a state of one dimension is one row.
    - (C2) rows are positive, and a state has as many.
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
    The rows of `x`, as many for each slot, become the first rows of the slot's
    state. With `index` it is the rows that it names, n of them for each slot;
    an index below zero leaves its row of the state as it is.
    ```mlir
    mtp.write_state %h, @hidden of %slots : tensor<?x192xf32>, tensor<?xi32>
    mtp.write_state %h[%last], @hidden of %slots
        : tensor<?x192xf32>[tensor<?xi32>], tensor<?xi32>
    ```

    Constraints:
    - (C1) the state is as in read_state (C1), with the operand's width.
    - (C2) an index has a row per slot; a static operand without one has as many
      rows for each slot.
    - (C3) a state has as many rows as are written.
    - (C4) the state is no input.
    - (C5) as of mtp.store.
  }];
  let arguments = (ins MTP_Activation:$x,
                       Optional<TensorRankOf<[I32], [1, 2]>>:$index,
                       FlatSymbolRefAttr:$state, MTP_Tokens:$slots);
  let assemblyFormat = [{
    $x (`[` $index^ `]`)? `,` $state `of` $slots attr-dict
    `:` type($x) (`[` type($index)^ `]`)? `,` type($slots)
  }];
  let extraClassDeclaration = [{
    /// Rows that are written for each slot; dynamic where not known yet.
    int64_t getRowsPerSlot();
  }];
  let hasVerifier = 1;
}

def MTP_ConcatRowsOp : MTP_Op<"concat_rows", [Pure]> {
  let summary = "Rows of one activation, then of another, slot by slot";
  let description = [{
    For every slot `heads` rows of the first operand and then `tails` rows of
    the second one.

    ```mlir
    %y = mtp.concat_rows %carry rows 1, %h rows 3
         : tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
    ```

    Constraints:
    - (C1) the widths are equal and static.
    - (C2) rows are positive; static operands have a multiple of theirs, for as
      many slots, and the result has the sum.
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
    The host knows `logits`, the rows that were verified or the last row of each
    sequence of a chunk, and `picks`, what was picked from them; of a round also
    `tokens`, those of its rows, and `path`, the nodes that a tree's tokens come
    from. `drafted` is how many drafts of a slot a round could have accepted,
    i32; where a round does not say it they count as k.

    With `for` an output is declared here, under a name of the module's own, and
    requests may ask for it: `for slots` it has a row for each slot of a round
    or sequence of a chunk, `for tokens` one for each row that was verified, of
    a chunk for the last one of each sequence. Of the latter a request is given
    the rows that its tokens come from. Rows are numbers, or as many each.

    ```mlir
    mtp.output "logits" %l : tensor<?x4096xf32>
    mtp.output "doubt" %d for tokens : tensor<?xf32>
    mtp.output "chosen" %c for slots : tensor<?x2xi32>
    ```

    Constraints:
    - (C1) with `for` the value is i32 or f32, of one dimension or of two with a
      static width.
    - (C2) a name that the host knows has no `for`.
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value,
                       OptionalAttr<MTP_OutputRowsAttr>:$of);
  let assemblyFormat = [{
    $name $value (`for` `` $of^)? attr-dict `:` type($value)
  }];
  let extraClassDeclaration = [{
    /// The outputs that the host knows by their names.
    static ::llvm::ArrayRef<::llvm::StringLiteral> getHostNames();
  }];
  let hasVerifier = 1;
}

def MTP_AwaitHostOp : MTP_Op<"await_host", [
    HasParent<"::mlir::mtp::RoundOp">,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>,
                   MemRead<MTP_HostResource>, MemWrite<MTP_HostResource>]>]> {
  let summary = "Where a round may stop, so that the host sees the drafts";
  let description = [{
    A host that must see what is drafted before it is verified, for a grammar
    say, runs a round in two halves: behind the first it is given the drafts,
    and of a tree that is computed the parents; then it writes inputs of the
    slots anew, and the second half reads these. Nothing that reads or writes
    states moves across. A round in which nobody asks runs as a whole.

    Without drafts there is nothing to see: at k = 0 the op is gone.

    ```mlir
    mtp.await_host %drafts : tensor<?x?xi32>
    mtp.await_host %drafts parents %p : tensor<?x4xi32>, tensor<?x5xi32>
    ```

    Constraints:
    - (C1) it stands once in a round, at its top level, behind the draft
      operation and in front of `mtp.verify` where there are these.
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
