//===- MTPControlOps.td - State and control of slots -------*- tablegen -*-===//
//
// What a slot keeps between rounds, and the integer code that goes from it to
// the rows of a round and back, written in upstream dialects.
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
  let summary = "Declare what slots keep between rounds";
  let description = [{
    Every slot has one; a `shared` state is one for all. Extents may grow with
    the envelope. A state begins as `init`, by default 0, in every element: when
    a sequence is admitted to the slot, a shared one when the session begins.

    `rebuild` says how a slot's state comes back where the first tokens of its
    prompt are not run again, because of a reused prefix or after preemption:

    - `rows n` (default, n = 1): a prefill of the last n tokens of the known
      text writes all of it, so that reuse ends n tokens before the text does.
    - `tokens`: the state holds the known tokens by their positions; the host
      writes them.
    - `never`: such a sequence runs all its tokens again.
    - `save`: after a preemption the host writes back what the last round left,
      once the tokens have been run again. Behind a reused prefix it is what it
      is at first: `init`, and what a prefill's last row makes of it.

    ```mlir
    mtp.state @length : i32
    mtp.state @window[max_k + 1] : i32
    mtp.state @hidden[max_k + 1, 192] : f32 rebuild rows 2
    mtp.state @history[max_context] : i32 init -1 rebuild tokens
    mtp.state @thinks : i32 rebuild save
    mtp.state shared @active[max_batch] : i32
    ```

    An `input` is what a request brings under this name: the host writes it when
    the sequence gets a slot, after a preemption too, and `init` where the
    request has nothing. Programs only read it.

    ```mlir
    mtp.state @bias[64] : f32 input
    mtp.state @most : i32 init 4 input
    ```

    States with these names are what the host and the programs share, and are
    declared as follows: `length`, `out_tokens[max_k + 1]`, `out_count`,
    `sampling[8]`, `loop[8]`, `stop_tokens[8]`, `ring[32, max_k + 2]`,
    `draft_limit`, `drafter_places[max_k, 2]`, `page_table[max_pages]`; shared
    `active[max_batch]`,
    `prompt_tokens[n, prefill_chunk]`, `prompt_positions[n, prefill_chunk]`,
    `prompt_slots[prefill_chunk]`, `prompt_sequences[5, max_batch]`, for any n;
    all of i32. `dialects/MTP/README.md` says what is in them.

    In `want_k` programs say how many drafts the slot wants in its next round at
    most. Below 0 it is 0. With a rule that is not exact it must follow from
    accepted tokens alone: noise is that of positions, so a position that is
    drafted again has the same draft, and a wish that goes by it would choose
    among what is drawn.

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
    - (C7) a state that the host shares has the form that it wants.
    - (C8) rebuild save: at most 64 KiB of a slot within the envelope.
    - (C9) an input is per slot, of i32 or f32, without a rebuild, and no state
      that the host shares.
    - (C10) rebuild run is for what `mtp.recurrence` declares.
    - (C11) `want_k` is one i32 of each slot.
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
    /// The sizes of what one slot has, or, where it is shared, of all of it.
    ::llvm::SmallVector<int64_t> getShape(EnvelopeAttr envelope);
  }];
  let hasVerifier = 1;
}

def MTP_PerSlotOp : MTP_Op<"per_slot", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Run a body once for every slot";
  let description = [{
    The body sees the index of its slot in `slots`, the slot, and what the
    operands have for this index: of a `tensor<?xDxT>` a `tensor<DxT>`, of a
    `tensor<?xT>` a `T`. What it yields is put together likewise. It reads and
    writes the slot's state by `mtp.load` and `mtp.store`, in the order of the
    program. `slots` names no slot twice, so that bodies run in any order or at
    once.

    A body ends whatever memory holds, and can run on any target: it holds
    `arith` and, on scalars, `math` where they need no library (`arith.remf`
    does), `scf.for`, `scf.if`, `scf.parallel`, of `tensor` what makes, reads
    and updates small tensors (`isControlOp`), and until they are inlined calls
    of functions that hold no more than that.
    All of it has a defined result: indices are those of the nearest element, a
    division by zero is one by 1, shifts count modulo the width, a number beyond
    an integer's range becomes its nearest, and an empty tensor holds zeros. Its
    constants stand in it. Extents in it may be dynamic until the round is
    instantiated.

    A loop whose bound is a number from memory ends, though late where that
    number is large. It is not cut off: how far a program means to count is not
    known here, and only the program writes what it counts by.

    What goes over many elements of a state is an `scf.parallel`, whose numbers
    are joined in any order with the same bits: ties are decided by the number
    that has the place in it. At a body's top level its iterations are shared by
    many lanes, the threads of a block on a GPU and vectors on a CPU; one within
    an `scf.for` or `scf.if` is a thread's on a GPU.

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

    Names of values in it are its own: what is outside may have the same.

    An op's location may have a name, `loc("lookup")`, which its kernel gets.

    ```mlir
    %tokens, %last = mtp.per_slot %slots(%drafts) {
    ^bb0(%index: index, %slot: i32, %draft: i32):
      %n = mtp.load @length[] : i32
      %t = tensor.from_elements %n, %draft : tensor<2xi32>
      mtp.yield %t, %n : tensor<2xi32>, i32
    } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?xi32>)
    ```

    Constraints:
    - (C1) operands and results have the rows of slots.
    - (C2) the body takes an index, an i32, and what one index has of every
      operand.
    - (C3) it yields what one index has of every result.
    - (C4) it holds operations that `isControlOp` allows, and no other.
    - (C5) values in it are of index, i1, i32, i64 or f32, or tensors of the
      last four.
    - (C6) the step of a loop is a positive constant, and its bounds are signed.
    - (C7) a tensor.generate, which runs whenever its elements are wanted, loads
      no state that the body stores to.
    - (C8) an scf.parallel has one dimension and a constant step; it joins
      numbers of i32, i64 or index by one arith.addi, arith.maxsi or
      arith.minsi each, stores nothing and holds no tensors.
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
    /// The arguments of the operands.
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
    Of the slot that the body runs for, or of a shared state. An index out of
    range is that of the nearest element.

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
  let summary = "A random number of the slot's seed and a position";
  let description = [{
    Between 0 and 1, 1 excluded, a multiple of 2^-24. It is a function of the
    seed, the position and `number`, which tells several of a position apart;
    all of them, and the noise of `mtp.sample`, are independent. It is the upper
    24 bits of word 0 of Philox4x32-10 with the seed as the key and the counter
    (position, 2, number, 0).

    ```mlir
    %u = mtp.uniform %position, %number
    ```

    Constraints:
    - (C1) as of mtp.load.
  }];
  let arguments = (ins I32:$position, I32:$number);
  let results = (outs F32:$result);
  let assemblyFormat = "$position `,` $number attr-dict";
  let hasVerifier = 1;
}

def MTP_StoreOp : MTP_StateAccessOp<"store"> {
  let summary = "Write an element of a slot's state";
  let description = [{
    An index out of range is that of the nearest element.
    ```mlir
    mtp.store %n, @length[] : i32
    mtp.store %t, @window[%j] : i32
    ```

    Constraints:
    - (C1) as of mtp.load, not within a tensor.generate, whose order is free.
    - (C2) as of mtp.load.
    - (C3) the state is not shared: slots would write over each other.
    - (C4) the state is no input: the host alone writes what a request brings.
    - (C5) neither the host nor an mtp.commit beside it alone writes the state.
  }];
  let arguments = (ins MTP_StateElement:$value,
      Arg<FlatSymbolRefAttr, "the state", [MemWrite<MTP_SlotResource>]>:$state,
      Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `,` $state `[` $indices `]` attr-dict `:` type($value)
  }];
}

#endif // MTP_CONTROL_OPS_TD
