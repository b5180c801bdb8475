//===- ExecProgramOps.td - Programs and their ops ----------*- tablegen -*-===//

#ifndef EXEC_PROGRAM_OPS
#define EXEC_PROGRAM_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecEnums.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_ProgramOp : Exec_Op<"program", [
    Symbol, HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "Define a program for a range of n: rounds, chunks, a function";
  let description = [{
    `kind` is `decode`, `prefill` or `function`. A `decode` program is one round
    for n slots and `k` drafts. A `prefill` program is one chunk of n rows of
    `sequences` slots, by default one; its `k` is 0 if it does not fill the
    drafter's caches. A `function` is an exported function on given tensors. The
    program is valid for every n from `least` to `most`: numbers that grow with
    n are counts. In a function no number grows.

    A `decode` program that is `below` a number of positions has the results of
    another program for the same n. It is the faster one if all rows are at
    positions below that number. A program with `prompts` is a mixed batch: it
    also runs that number of prompt rows, padding rows included, of one prompt
    or of `sequences` prompts.

    A `prefill` that is a `catch_up` runs over rows that rounds have verified,
    and only fills the drafter's caches. `catch_up` is the largest distance of
    such a row from the anchor, in positions. It takes up to `sequences`
    sequences.

    Example:
    ```mlir
    exec.program @decode_k2 decode k 2 n 1 to 256 { ... }
    exec.program @decode_k2_below640 decode below 640 k 2 n 1 to 256 { ... }
    exec.program @decode_k2_prompts decode prompts 64 k 2 n 1 to 256 { ... }
    exec.program @decode_k2_prompts_s2 decode sequences 2 prompts 64 k 2 n 1 to
        254 { ... }
    exec.program @prefill_s4 prefill sequences 4 k 0 n 4 to 128 { ... }
    exec.program @catch_up prefill sequences 4 catch_up 65 k 2 n 1 to 99 { ... }
    exec.program @sum function { ... }
    ```
    - (C1) kind is decode, prefill or function.
    - (C2) decode and prefill: k >= 0 and 1 <= least <= most < 2^31; function: k
      and n 0.
    - (C4) only a prefill has sequences, from 1 to least, or a decode with
      prompts, from 1 to the number of prompt rows: each sequence has a row. In
      a catch_up the number is not limited.
    - (C5) only a decode is below positions: more than 0, and less than 2^31.
    - (C6) only a decode has rows of prompts: more than 0, and less than 2^31.
    - (C7) only a prefill with k > 0 is a catch_up, of 1 to 2^31 - 1 positions.
    - (C3) the first schedule begins at `least`, and later ones ascend, up to
      `most`. Each has a step for every call and dispatch; its first step is not
      joined.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_ProgramKindAttr:$kind,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$sequences,
                       OptionalAttr<I64Attr>:$positions,
                       OptionalAttr<I64Attr>:$prompts,
                       OptionalAttr<I64Attr>:$catch_up,
                       DefaultValuedAttr<I64Attr, "0">:$k,
                       DefaultValuedAttr<I64Attr, "0">:$least,
                       DefaultValuedAttr<I64Attr, "0">:$most);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` $kind (`sequences` $sequences^)? (`below` $positions^)?
    (`prompts` $prompts^)? (`catch_up` $catch_up^)? ``
    custom<Points>($k, $least, $most)
    attr-dict-with-keyword $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
      "::mlir::exec::ProgramKind":$kind, CArg<"int64_t", "0">:$k,
      CArg<"::mlir::exec::Points", "{}">:$points)>];
  let extraClassDeclaration = [{
    ::mlir::exec::Points getPoints() {
      return {int64_t(getLeast()), int64_t(getMost())};
    }
    void setPoints(::mlir::exec::Points points) {
      setLeast(points.least);
      setMost(points.most);
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Exec_RefOp : Exec_Op<"ref", [
    Pure, HasParent<"::mlir::exec::ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Refer to a resource";
  let description = [{
    Returns the buffer of an `exec.state` or of one of its rows, of an
    `exec.weight`, `exec.rope_table` or `exec.constant`, or of one layer of an
    `exec.cache`.

    Example:
    ```mlir
    %0 = exec.ref @target layer 3 : memref<?x16x80xbf16>
    %1 = exec.ref @prompt_tokens row 1 : memref<32xi32>
    %2 = exec.ref @active first n : memref<?xi32>
    ```
    - (C1) the resource exists and is a state, weight, table, constant or cache.
    - (C2) the layer is one of the cache's; other resources have layer 0.
    - (C3) the type is the resource's type: for a state as declared, for a
      constant its shape, for a table `positions x dim`, for a cache `? x page x
      entry`. A weight's type is static, with its element type, or i8 if it is
      quantised.
    - (C4) a weight's reference has the bytes of its packed form.
    - (C5) a row is one row of a state, and has the row's type. A reference may
      be the leading numbers of a state or row; `first` gives their number if
      the extent is dynamic, from 1 to all of them at every n.
  }];
  let arguments = (ins FlatSymbolRefAttr:$resource,
                       DefaultValuedAttr<I64Attr, "0">:$layer,
                       OptionalAttr<I64Attr>:$row,
                       OptionalAttr<Exec_CountAttr>:$first);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $resource (`layer` $layer^)? (`row` $row^)? `` custom<First>($first)
    `:` type($result) attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$resource,
                   "int64_t":$layer), [{
      build($_builder, $_state, type, resource, layer, ::mlir::IntegerAttr(),
            ::mlir::exec::CountAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns the bytes of the resource before the row.
    int64_t getRowOffset();
  }];
}

def Exec_AllocOp : Exec_Op<"alloc", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "Allocate a range of the arena";
  let description = [{
    The range lives from the first dispatch that names it to the last one. An
    `input` of a function lives from the start of the program, and a range that
    an `exec.output` names lives to its end. `exec-plan-memory` sets `offset`,
    in bytes. `rows` is the first extent if it grows with n.

    Example:
    ```mlir
    %0 = exec.alloc at 4096 : memref<8x192xf32>
    %1 = exec.alloc at 128 + 768 * n rows 3 * n : memref<?x192xf32>
    ```
    - (C1) the extents are static, except for the first extent of an alloc with
      rows, and the bytes fit 63 bits at every n.
  }];
  let arguments = (ins OptionalAttr<Exec_CountAttr>:$offset,
                       OptionalAttr<Exec_CountAttr>:$rows,
                       OptionalAttr<StrAttr>:$input);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    (`input` $input^)? `` custom<Place>($offset, $rows) attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

/// The number of active rows.
def Exec_ActiveNumber
    : Type<CPred<"$_self == ::mlir::MemRefType::get("
                 "{1}, ::mlir::IntegerType::get($_self.getContext(), 32))">,
           "memref<1xi32>", "::mlir::MemRefType">,
      BuildableType<"::mlir::MemRefType::get({1}, $_builder.getI32Type())">;

def Exec_DispatchOp : Exec_Op<"dispatch", [
    AttrSizedOperandSegments, HasParent<"::mlir::exec::ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a kernel";
  let description = [{
    The last `outputs` buffers are results, which the kernel writes completely.
    Buffers that a kernel updates in place (state, a cache) come before them.
    The number of tasks follows from the kernel and the params. A dispatch has
    completed, as far as any reader can tell, before the next one begins.

    `live` is a number in memory, the number of active rows. Of the rows that
    the first param counts, the rows from `live` on have no meaning, and a
    target need not compute them.

    Example:
    ```mlir
    exec.dispatch @add_0(%a, %b, %y) params [3 * n] offsets [0, 0, 0] outputs 1
        live %count : memref<?x192xf32>, memref<?x192xf32>, memref<?x192xf32>
    ```
    - (C1) one offset per buffer.
    - (C2) the kernel exists, and its kind takes this number of buffers and
      params and writes this number of outputs.
    - (C3) every offset lies in its buffer; a cache's is 0.
    - (C4) at every n of the program the kernel's contract allows the params,
      and every buffer has the bytes that the kernel accesses.
    - (C5) the kernel's page, entry width, heads and element type equal those of
      its cache; caches, and only caches, stand where the kernel takes a cache.
    - (C6) the buffers of a kernel with a body have the types of its arguments,
      with at least one row per task.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<Exec_Buffer>:$buffers,
                       Optional<Exec_ActiveNumber>:$live,
                       Exec_CountArrayAttr:$params, DenseI64ArrayAttr:$offsets,
                       I64Attr:$outputs);
  let assemblyFormat = [{
    $kernel `(` $buffers `)` `params` custom<Counts>($params)
    `offsets` $offsets `outputs` $outputs (`live` $live^)? attr-dict
    `:` type($buffers)
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::exec::Count> getCounts();
  }];
  let hasVerifier = 1;
}

def Exec_ScheduleOp
    : Exec_Op<"schedule", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "Schedule the calls on the CPU's threads from some n on";
  let description = [{
    The schedule is for the CPU; other targets ignore it. It divides the calls
    or dispatches of the program, in order, into stages, with a barrier before
    each stage except the first. Within a stage a thread goes on to the next
    call as soon as its own share of the previous call is done. A share is a
    contiguous range of the tasks, which depends only on the number of tasks;
    the first thread has all tasks of a `solo` call. The schedule is valid up to
    the n at which the next schedule begins. `exec-form-stages` writes it.
    Without a schedule there is a barrier before every call, and threads share
    all calls.

    Example:
    ```mlir
    exec.schedule from 1 [[solo, solo], [all, all], [solo]]
    exec.schedule from 9 [[solo], [all], [all, all], [all]]
    ```
    - (C1) begin and steps are valid for a schedule of the program
      (`exec.program`, C3).
  }];
  let arguments = (ins I64Attr:$begin, DenseI8ArrayAttr:$steps);
  let assemblyFormat = "`from` $begin custom<Stages>($steps) attr-dict";
  let extraClassDeclaration = [{
    /// The bits of a step.
    static constexpr int8_t kSolo = 1, kJoined = 2;
    bool isSolo(size_t call) { return (getSteps()[call] & kSolo) != 0; }
    /// Returns whether no barrier stands before a call.
    bool isJoined(size_t call) { return (getSteps()[call] & kJoined) != 0; }
  }];
}

def Exec_InputOp : Exec_Op<"input", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "Declare a tensor that the caller of a function gives";
  let description = [{
    Example:
    ```mlir
    %x = exec.input "x" : tensor<2x8xf32>
    ```
    - (C1) the type is a static tensor of f32, bf16, i8, i32 or i64.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_OutputOp : Exec_Op<"output", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "Name a value that the host may read after the program";
  let description = [{
    The value is a function's result, or an output of a program such as its
    logits. `for` is as in `mtp.output`: requests may ask for the output.

    Example:
    ```mlir
    exec.output "logits" %0 : memref<3x4096xf32>
    exec.output "doubt" %1 for tokens : memref<3xf32>
    ```
    - (C1) the value is a tensor or buffer of f32, bf16, i8, i32 or i64, static
      except for the number of rows.
    - (C2) the value is no view.
  }];
  let arguments = (ins StrAttr:$name, AnyType:$value,
                       OptionalAttr<MTP_OutputRowsAttr>:$of);
  let assemblyFormat = [{
    $name $value (`for` `` $of^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Exec_AwaitHostOp : Exec_Op<"await_host", [
    HasParent<"::mlir::exec::ProgramOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Mark the point where a round may stop for the host";
  let description = [{
    The calls before the op are the first half of a round, the others the second
    half. A target can run each half alone. Between them the host reads the
    outputs `drafts` and `parents`, and writes inputs of slots. No call moves
    across the op, and no thread begins the second half before all threads have
    ended the first.

    Example:
    ```mlir
    exec.await_host
    ```
    - (C1) it stands once, in a decode program, between two calls or dispatches.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Exec_OnRequestOp : Exec_Op<"on_request", [
    HasParent<"::mlir::exec::ProgramOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Mark the start of calls that run only on request";
  let description = [{
    The calls after the op serve only outputs `for` slots or tokens, and run if
    a request asks for one of them. No call moves across the op, and no thread
    begins such a call before all threads have ended the earlier calls.

    Example:
    ```mlir
    exec.on_request
    ```
    - (C1) it stands once, in a decode or prefill program, between two calls or
      dispatches, after `exec.await_host`.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // EXEC_PROGRAM_OPS
