//===- ExecResourceOps.td - Resources of programs ----------*- tablegen -*-===//
//
// Kernels, packed weights, constants, persistent state and KV caches: symbols
// at module level, each one entry of the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_RESOURCE_OPS
#define EXEC_RESOURCE_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "dialects/MTP/IR/MTPAttrs.td"
include "dialects/MTP/IR/MTPInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"

class Exec_ResourceOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [Symbol, HasParent<"::mlir::ModuleOp">]>;

def Exec_KernelOp : Exec_ResourceOp<"kernel", [
    AutomaticAllocationScope, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "Declare a kernel that the code generator emits";
  let description = [{
    The attribute gives the kind of the kernel and its compile-time parameters:
    widths, formats and constants, never a number of rows. Two dispatches with
    equal kernels share one. `#exec.builtin` is a function of the runtime and is
    not emitted.

    A kernel `#exec.control` carries its body, the code of one task, which is
    one slot of a round, in `arith`, `math`, `scf` and `memref`. The arguments
    of the body are the number of the task and then the buffers: `reads` are
    only read, `updates` are updated in place, and `outputs` are written. A
    buffer with a row for each task has a dynamic first extent; all other
    extents are static. Every target puts its own loop over tasks around the
    body. Lanes may share an `scf.for` with the attribute `exec.lanes` if its
    iterations may run in any order (`laneLoopOf`); otherwise the attribute has
    no effect.

    Example:
    ```mlir
    exec.kernel @rms_norm_0 #exec.rms_norm<width = 192, eps = 1.0e-6 : f32>
    exec.kernel @control_0 #exec.control<reads = 1, updates = 1, outputs = 0> {
    ^bb0(%task: index, %slots: memref<?xi32>, %length: memref<4xi32>):
      ...
    }
    ```
    - (C1) widths and counts are at least 1, and parameters go together.
    - (C2) a kernel has a body if and only if it is of the kind control.
    - (C3) a body takes an index and the buffers that the kernel counts, of i32,
      i64 or f32. Only the first extent of reads and outputs may be dynamic, and
      the first extent of an output is.
    - (C4) a body holds `arith`, `math`, `scf.for` and `scf.if`, small buffers
      of its own (`memref.alloca`, at its top level), loads, stores and
      `exec.clamp_task`. It stores only to its own buffers, updates and
      outputs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Exec_KernelAttrInterface:$kernel);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kernel attr-dict-with-keyword ($body^)?
  }];
  let extraClassDeclaration = [{
    /// Returns the name of its kind.
    ::llvm::StringRef getKind() { return getKernel().getKind(); }
    /// Returns whether the kernel carries its body.
    bool hasBody() { return !getBody().empty(); }
    /// Returns the number of buffers of a body.
    Block::BlockArgListType getBuffers() {
      return getBody().getArguments().drop_front();
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Exec_WeightOp : Exec_ResourceOp<"weight", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Declare a packed weight";
  let description = [{
    Lists the tensors of the weight files that make up one packed weight, and
    the layout that kernels stream (for example `#exec.panels`). `k` and `n` are
    the contraction and output widths of one matrix, `stack` is the number of
    matrices (experts, heads).

    With `picks` the outputs are only the rows of the source that an
    `exec.constant` lists, in its order.

    Integers (`#exec.format`) in the layout `#exec.raw` are a table whose rows
    are looked up.

    Example:
    ```mlir
    exec.weight @w0 #exec.panels<32> k 192 n 512 stack 1
        [#exec.source<key = "lm_head.weight">] : <bf16>
    exec.weight @w1 #exec.panels<32> k 192 n 512 stack 1
        [#exec.source<key = "mlp.up_proj.weight">] : <int4, group = 64>
    exec.weight @w2 #exec.raw k 192 n 512 stack 1
        [#exec.source<key = "embed_tokens.weight">] : <int8, group = 64>
    ```
    - (C1) panels of integers have 32 outputs, as the file format requires.
    - (C2) k, n and stack are positive and their product is at most 2^50.
    - (C3) gated panels have exactly two sources and an even n, every layout at
      least one source.
    - (C4) a raw table of integers has no stack.
    - (C5) picks: the layout is panels, with one source and no stack; the
      constant exists and holds n elements of i32.
    - (C6) panels in fragments are of bf16, or of integers in groups of 32, 64
      or 128, and k is a multiple of 32.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Exec_WeightLayoutAttrInterface:$layout, I64Attr:$k,
                       I64Attr:$n, I64Attr:$stack, Exec_SourcesAttr:$sources,
                       Exec_FormatAttr:$format,
                       OptionalAttr<FlatSymbolRefAttr>:$picks);
  let assemblyFormat = [{
    $sym_name $layout `k` $k `n` $n `stack` $stack $sources
    (`picks` $picks^)? `:` $format attr-dict
  }];
  let extraClassDeclaration = [{
    /// Returns whether the elements are integers with scales.
    bool isQuantized() { return getFormat().isQuantized(); }
    /// Returns whether tensor cores have an order for panels of these elements
    /// and inputs.
    bool canBeInFragments();
    /// Returns the buffer of the packed form, and its bytes.
    ::mlir::MemRefType getPackedType();
    int64_t getPackedBytes();
  }];
  let hasVerifier = 1;
}

def Exec_RopeTableOp : Exec_ResourceOp<"rope_table"> {
  let summary = "Declare the cosines and sines of a rotary embedding";
  let description = [{
    A table of `positions` rows. Row p holds cos(p*f_i) for the dim/2
    frequencies, followed by sin(p*f_i), both scaled by the attention factor of
    the rotary attribute.

    Example:
    ```mlir
    exec.rope_table @rope0 <dim = 16, theta = 1.0e4> positions 1029
    ```
    - (C1) 1 <= positions <= 2^23, twice the longest context.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, MTP_RopeAttr:$rope,
                       I64Attr:$positions);
  let assemblyFormat = "$sym_name $rope `positions` $positions attr-dict";
  let hasVerifier = 1;
}

def Exec_ConstantOp : Exec_ResourceOp<"constant"> {
  let summary = "Declare a small constant that the compiler computed";
  let description = [{
    Example:
    ```mlir
    exec.constant @mask0 dense<[1, 3, 5]> : tensor<3xi64>
    ```
    - (C1) the elements are dense and f32, i32 or i64, and their bytes fit 63
      bits.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name $value attr-dict";
  let hasVerifier = 1;
}

def Exec_StateOp : Exec_ResourceOp<"state", [
    DeclareOpInterfaceMethods<MTP_SlotStateOpInterface,
                              ["getElementType", "getExtentSizes"]>]> {
  let summary = "Declare a buffer that lives as long as the session";
  let description = [{
    State is the only data that outlives a program. Its first extent is the
    slots; a `shared` state has one copy for all slots. `init`, `rebuild` and
    `input` are as in `mtp.state`: the host initialises a slot's state from them
    when a sequence gets the slot. With `rebuild run` the host does not:
    programs begin the state with zeros at position 0, and running all rows
    again restores it. `exec-plan-memory` sets `offset`, the place in the state
    region.

    Example:
    ```mlir
    exec.state @length : memref<4xi32>
    exec.state @history : memref<4x512xi32> init -1 rebuild tokens
    exec.state shared @active at 64 : memref<4xi32>
    ```
    - (C1) the type is a static memref of f32, i32 or i64 whose bytes fit 63
      bits.
    - (C2) init is of the element type.
    - (C3) rebuild rows: at least 1 row.
    - (C4) a shared state has no rebuild, and is no input.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       OptionalAttr<I64Attr>:$offset, UnitAttr:$shared,
                       OptionalAttr<TypedAttrInterface>:$init,
                       DefaultValuedAttr<MTP_RebuildAttr,
                                         "::mlir::mtp::Rebuild::Rows">:$rebuild,
                       DefaultValuedAttr<I64Attr, "1">:$rebuild_rows,
                       UnitAttr:$input);
  let assemblyFormat = [{
    (`shared` $shared^)? $sym_name (`at` $offset^)? `:` $type
    `` custom<BufferInit>($init, ref($type))
    `` custom<Rebuild>($rebuild, $rebuild_rows) (`input` $input^)? attr-dict
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    // Builds a per-slot state that begins as 0 and takes one row to rebuild.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::MemRefType":$type,
                   CArg<"bool", "false">:$shared)>
  ];
  let hasVerifier = 1;
}

def Exec_CacheOp : Exec_ResourceOp<"cache"> {
  let summary = "Declare a paged KV cache";
  let description = [{
    One token takes `entry` elements in each of `layers` layers. All caches of a
    model share one page table per slot; page 0 is the dummy page. `heads`
    divides the entries evenly among that number of heads. A page then holds the
    parts of one head of all its entries, followed by those of the next head.

    Example:
    ```mlir
    exec.cache @target layers 4 entry 80 page 16 : bf16
    exec.cache @drafter layers 1 entry 1024 heads 8 page 16 : bf16
    ```
    - (C1) layers, entry, heads and page are positive.
    - (C2) elements are f32 or bf16.
    - (C3) entry is a multiple of heads.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$layers,
                       I64Attr:$entry, DefaultValuedAttr<I64Attr, "1">:$heads,
                       I64Attr:$page, TypeAttr:$dtype);
  let assemblyFormat = [{
    $sym_name `layers` $layers `entry` $entry (`heads` $heads^)? `page` $page
    `:` $dtype attr-dict
  }];
  let hasVerifier = 1;
}

#endif // EXEC_RESOURCE_OPS
