//===- MTPControlOps.td - State and control of slots -------*- tablegen -*-===//
//
// State that a slot keeps between rounds, and integer code on it, written in
// upstream dialects.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CONTROL_OPS_TD
#define MTP_CONTROL_OPS_TD

include "dialects/MTP/IR/MTPInterfaces.td"
include "dialects/MTP/IR/MTPOpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

/// One element of a state.
def MTP_StateElement : AnyTypeOf<[I32, I64, F32]>;
/// One row per slot: an element, or a small tensor.
def MTP_SlotRows : TensorRankOf<[I32, I64, F32], [1, 2, 3, 4]>;

def MTP_StateOp : MTP_Op<"state", [
    Symbol, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<MTP_SlotStateOpInterface, ["getExtentSizes"]>]> {
  let summary = "Declare a state that slots keep between rounds";
  let description = [{
    Every slot has one copy; a `shared` state has one copy for all slots.
    Extents may grow with the envelope. Every element begins as `init`, by
    default 0: when a sequence is admitted to the slot, or for a shared state
    when the session begins.

    `rebuild` says how the state is restored if the first tokens of a prompt are
    not run again, because of a reused prefix or after a preemption:

    - `rows n` (default, n = 1): a prefill of the last n tokens of the known
      text writes the whole state. Reuse ends n tokens before the text ends.
    - `tokens`: the state holds the known tokens by position; the host writes
      them.
    - `never`: the sequence runs all its tokens again.
    - `save`: after a preemption the host writes back the value that the last
      round left, once the tokens have been run again. After a reused prefix the
      state has its first value: `init`, and what the last row of a prefill
      writes.

    ```mlir
    mtp.state @length : i32
    mtp.state @window[max_k + 1] : i32
    mtp.state @hidden[max_k + 1, 192] : f32 rebuild rows 2
    mtp.state @history[max_context] : i32 init -1 rebuild tokens
    mtp.state @thinks : i32 rebuild save
    mtp.state shared @active[max_batch] : i32
    ```

    An `input` is a value that a request brings under this name. The host writes
    it when the sequence gets a slot, also after a preemption. If the request
    brings none, the host writes `init`. Programs only read it.

    ```mlir
    mtp.state @bias[64] : f32 input
    mtp.state @most : i32 init 4 input
    ```

    The host and the programs share states with these names, in these forms:
    `length`, `out_tokens[max_k + 1]`, `out_count`, `sampling[8]`, `loop[8]`,
    `stop_tokens[8]`, `ring[32, max_k + 2]`, `draft_limit`,
    `drafter_places[max_k, 2]`, `page_table[max_pages]`; shared
    `active[max_batch]`, `prompt_tokens[n, prefill_chunk]`, `prompt_positions[n,
    prefill_chunk]`, `prompt_slots[prefill_chunk]`, `prompt_sequences[5,
    max_batch]`, for any n; all of i32. `dialects/MTP/STATES.md` describes their
    contents.

    Programs write to `want_k` the largest number of drafts that the slot wants
    in its next round. A negative number counts as 0. With a rule that is not
    exact, `want_k` must follow from accepted tokens alone. Noise belongs to a
    position, so a position that is drafted again gets the same draft. A
    `want_k` that depends on rejected drafts would select among the samples.

    ```mlir
    mtp.state @want_k : i32 init 16 rebuild save
    ```

    Constraints:
    - (C1) at most three extents; within the module's envelope each is at least
      1, and all slots together have at most 2^46 elements.
    - (C2) elements are i32, i64 or f32.
    - (C3) init is of the element type.
    - (C4) rebuild rows: at least 1 row and at most 4096.
    - (C5) rebuild tokens: one extent, max_context or more, of i32.
    - (C6) a shared state has no rebuild.
    - (C7) a state that the host shares has the form that the host expects.
    - (C8) rebuild save: at most 64 KiB per slot within the envelope.
    - (C9) an input is per slot, of i32 or f32, without a rebuild, and no state
      that the host shares.
    - (C10) only states of `mtp.recurrence` have rebuild run.
    - (C11) `want_k` is one i32 per slot.
  }];
  let arguments = (ins UnitAttr:$shared, SymbolNameAttr:$sym_name,
                       MTP_ExtentArrayAttr:$extents,
                       TypeAttrOf<MTP_StateElement>:$element_type,
                       OptionalAttr<TypedAttrInterface>:$init,
                       DefaultValuedAttr<MTP_RebuildAttr,
                                         "::mlir::mtp::Rebuild::Rows">:$rebuild,
                       DefaultValuedAttr<I64Attr, "1">:$rebuild_rows,
                       UnitAttr:$input);
  let assemblyFormat = [{
    (`shared` $shared^)? $sym_name `` custom<Extents>($extents)
    `:` $element_type `` custom<StateInit>($init, ref($element_type))
    `` custom<Rebuild>($rebuild, $rebuild_rows) (`input` $input^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Returns the extents of one slot's copy, or of the single copy of a
    /// shared state.
    ::llvm::SmallVector<int64_t> getShape(EnvelopeAttr envelope);
  }];
  let hasVerifier = 1;
}

def MTP_PerSlotOp : MTP_Op<"per_slot", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Run a body once for every slot";
  let description = [{
    The body gets the index of its slot in `slots`, the slot, and for each
    operand the element of this index: a `tensor<DxT>` of a `tensor<?xDxT>`, a
    `T` of a `tensor<?xT>`. The yielded values of all indices form the results
    in the same way. The body reads and writes the slot's state by `mtp.load`
    and `mtp.store`, in program order. `slots` names no slot twice, so bodies
    run in any order or in parallel.

    A body always ends, whatever memory holds, and compiles for any target. It
    may hold:

    - `arith`, without `arith.remf`; `math` on scalars, if the op needs no
      library;

    - `scf.for`, `scf.if` and `scf.parallel`;

    - `tensor` ops that make, read and update small tensors (`isControlOp`);

    - calls of functions that hold only such ops, until they are inlined.

    Every op has a defined result. An index beyond the range means the nearest
    element, and a division by zero divides by 1. Shifts count modulo the width.
    A conversion beyond an integer's range gives the nearest integer. An empty
    tensor holds zeros. Constants stand inside the body. Extents may be dynamic
    until the round is instantiated.

    A loop whose bound is a number from memory ends, but late if the number is
    large. The loop is not cut off: the compiler does not know how far a program
    means to count, and only the program writes the number.

    Use `scf.parallel` to go over many elements of a state. Its reductions may
    join numbers in any order with the same bits. To break ties, encode the
    index in the number that is reduced. At the top level of a body many lanes
    share the iterations: the threads of a block on a GPU, vectors on a CPU. An
    `scf.parallel` within an `scf.for` or `scf.if` runs in a single thread on a
    GPU.

    ```mlir
    %last = scf.parallel (%p) = (%c0) to (%n) step (%c1) init (%none) -> index {
      %token = mtp.load @history[%p] : i32
      %same = arith.cmpi eq, %token, %anchor : i32
      %place = arith.select %same, %p, %none : index
      scf.reduce(%place : index) {
      ^bb0(%a: index, %b: index):
        %later = arith.maxsi %a, %b : index
        scf.reduce.return %later : index
      }
    }
    ```

    Names of values in the body are its own: values outside may have the same
    names.

    The location of an op may have a name, `loc("lookup")`, which becomes the
    name of its kernel.

    ```mlir
    %tokens, %last = mtp.per_slot %slots(%drafts) {
    ^bb0(%index: index, %slot: i32, %draft: i32):
      %n = mtp.load @length[] : i32
      %t = tensor.from_elements %n, %draft : tensor<2xi32>
      mtp.yield %t, %n : tensor<2xi32>, i32
    } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?xi32>)
    ```

    Constraints:
    - (C1) operands and results have one row per element of `slots`.
    - (C2) the body takes an index, an i32, and for every operand the element of
      one index.
    - (C3) it yields for every result the element of one index.
    - (C4) it holds only operations that `isControlOp` allows.
    - (C5) values in the body are of index, i1, i32, i64 or f32, or tensors of
      the last four.
    - (C6) the step of a loop is a positive constant, and its bounds are signed.
    - (C7) a tensor.generate loads no state that the body stores to, because its
      iterations run when their elements are read.
    - (C8) an scf.parallel has one dimension and a constant step; it joins
      numbers of i32, i64 or index, each by one arith.addi, arith.maxsi or
      arith.minsi; it stores nothing and holds no tensors.
  }];
  let arguments = (ins MTP_Tokens:$slots, Variadic<MTP_SlotRows>:$inputs);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let results = (outs Variadic<MTP_SlotRows>:$outputs);
  let assemblyFormat = [{
    $slots (`(` $inputs^ `)`)? attr-dict-with-keyword
    custom<OwnNames>($bodyRegion) `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    YieldOp getYield();
    BlockArgument getIndexArgument() { return getBody()->getArgument(0); }
    BlockArgument getSlotArgument() { return getBody()->getArgument(1); }
    /// Returns the block arguments of the operands.
    Block::BlockArgListType getInputArguments() {
      return getBody()->getArguments().drop_front(2);
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

class MTP_StateAccessOp<string mnemonic>
    : MTP_Op<mnemonic, [MTP_InControlBody,
                        DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def MTP_LoadOp : MTP_StateAccessOp<"load"> {
  let summary = "Read an element of a state";
  let description = [{
    Reads the state of the slot that the body runs for, or a shared state. An
    index beyond the range means the nearest element.

    ```mlir
    %n = mtp.load @length[] : i32
    %w = mtp.load @window[%j] : i32
    %s = mtp.load @active[%index] : i32
    ```

    Constraints:
    - (C1) it stands in the body of an mtp.per_slot, or in a private function
      that such a body calls.
    - (C2) the state exists, with elements of the result's type and an extent
      per index.
  }];
  let arguments = (ins
      Arg<FlatSymbolRefAttr, "the state", [MemRead<MTP_SlotResource>]>:$state,
      Variadic<Index>:$indices);
  let results = (outs MTP_StateElement:$result);
  let assemblyFormat = "$state `[` $indices `]` attr-dict `:` type($result)";
}

def MTP_UniformOp : MTP_Op<"uniform", [
    MTP_InControlBody, MemoryEffects<[MemRead<MTP_SlotResource>]>]> {
  let summary = "Draw a random number of the slot's seed and a position";
  let description = [{
    The result is a multiple of 2^-24 in [0, 1). It is a function of the seed,
    the position and `number`, which distinguishes several numbers of one
    position. All such numbers are independent of each other and of the noise of
    `mtp.sample`. The result is the upper 24 bits of word 0 of Philox4x32-10
    with the seed as the key and the counter (position, 2, number, 0).

    ```mlir
    %u = mtp.uniform %position, %number
    ```

    Constraints:
    - (C1) see mtp.load (C1).
  }];
  let arguments = (ins I32:$position, I32:$number);
  let results = (outs F32:$result);
  let assemblyFormat = "$position `,` $number attr-dict";
  let hasVerifier = 1;
}

def MTP_StoreOp : MTP_StateAccessOp<"store"> {
  let summary = "Write an element of a slot's state";
  let description = [{
    An index beyond the range means the nearest element.
    ```mlir
    mtp.store %n, @length[] : i32
    mtp.store %t, @window[%j] : i32
    ```

    Constraints:
    - (C1) see mtp.load (C1); it does not stand in a tensor.generate, whose
      iterations have no order.
    - (C2) see mtp.load (C2).
    - (C3) the state is not shared: slots would overwrite each other.
    - (C4) the state is no input: only the host writes the values of a request.
    - (C5) the state belongs neither to the host nor to an mtp.commit of the
      same round or prefill.
  }];
  let arguments = (ins MTP_StateElement:$value,
      Arg<FlatSymbolRefAttr, "the state", [MemWrite<MTP_SlotResource>]>:$state,
      Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `,` $state `[` $indices `]` attr-dict `:` type($value)
  }];
}

#endif // MTP_CONTROL_OPS_TD
