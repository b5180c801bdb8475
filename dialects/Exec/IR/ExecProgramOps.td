//===- ExecProgramOps.td - Programs and what they do -------*- tablegen -*-===//

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
  let summary = "A program for a range of n: rounds, chunks, a function";
  let description = [{
    `kind` is `decode` (one round for n slots and `k` drafts), `prefill` (one
    chunk of n rows of as many slots as `sequences` says, one by default; `k` is
    0 where the drafter's caches are not filled) or `function` (an exported
    function on given tensors). What it holds
    is for every n from `least` to `most`: numbers that grow with n are counts.
    In a function nothing does.

    A `decode` program that is `below` a number of positions has another one for
    the same n beside it, with the same results; it is the faster one where all
    rows are at positions below that number. One with `prompts` runs so many
    rows of prompts beside the slots' own, dead ones among them; of one, or as
    many as `sequences` says.

    A `prefill` that is a `catch_up` runs over rows that rounds have verified,
    so many positions in front of the anchor at most, and fills the drafter's
    caches alone; of any number of sequences up to `sequences`.

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
      prompts, from 1 to these: each has a row. In a catch_up they may be any
      number.
    - (C5) only a decode is below positions: more than 0, and less than 2^31.
    - (C6) only a decode has rows of prompts, as many as positions (C5).
    - (C7) only a prefill with k > 0 is a catch_up, of 1 to 2^31 - 1 positions.
    - (C3) the schedules begin with least and ascend to most at the latest; each
      has a step for every call and dispatch, of which the first is not joined.
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
    The buffer of an `exec.state`, or one of its rows, of an `exec.weight`,
    `exec.rope_table`, `exec.constant`, or of one layer of an `exec.cache`.

    Example:
    ```mlir
    %0 = exec.ref @target layer 3 : memref<?x16x80xbf16>
    %1 = exec.ref @prompt_tokens row 1 : memref<32xi32>
    %2 = exec.ref @active first n : memref<?xi32>
    ```
    - (C1) the resource exists and is a state, weight, table, constant or cache.
    - (C2) the layer is one of the cache's, and 0 for all else.
    - (C3) the type is the resource's: a state's as declared, a constant's
      shape, `positions x dim` for a table, `? x page x entry` for a cache; a
      weight's is static, of its element type, or of i8 where it is quantised.
    - (C4) a weight's reference has as many bytes as its packed form.
    - (C5) a row is one of a state's, and the type is the row's. Of a state's
      numbers, or a row's, it may be the first; `first` says how many of a
      dynamic extent, 1 to all of them at every n.
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
    /// The bytes of the resource before the row.
    int64_t getRowOffset();
  }];
}

def Exec_AllocOp : Exec_Op<"alloc", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "A range of the arena";
  let description = [{
    Lives from the first dispatch that names it to the last, from the start of
    the program where it is an `input` of a function, to its end where an
    `exec.output` names it. `offset` in bytes is set by `exec-plan-memory`.
    `rows` is the first extent where that grows with n.

    Example:
    ```mlir
    %0 = exec.alloc at 4096 : memref<8x192xf32>
    %1 = exec.alloc at 128 + 768 * n rows 3 * n : memref<?x192xf32>
    ```
    - (C1) the extents are static, but for the first one of an alloc with rows,
      and the bytes fit 63 bits at every n.
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

/// How many rows live.
def Exec_LiveNumber
    : Type<CPred<"$_self == ::mlir::MemRefType::get("
                 "{1}, ::mlir::IntegerType::get($_self.getContext(), 32))">,
           "memref<1xi32>", "::mlir::MemRefType">,
      BuildableType<"::mlir::MemRefType::get({1}, $_builder.getI32Type())">;

def Exec_DispatchOp : Exec_Op<"dispatch", [
    AttrSizedOperandSegments, HasParent<"::mlir::exec::ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a kernel";
  let description = [{
    The last `outputs` buffers are results, written as a whole. What a kernel
    updates in place (state, a cache) stands before them. Into how many tasks it
    divides follows from the kernel and the params. As far as anybody can tell
    all is done before the next dispatch begins.

    `live` is a number in memory: of the rows, which the first param counts,
    those from there on mean nothing to anybody, and a target need not compute
    them.

    Example:
    ```mlir
    exec.dispatch @add_0(%a, %b, %y) params [3 * n] offsets [0, 0, 0] outputs 1
        live %count : memref<?x192xf32>, memref<?x192xf32>, memref<?x192xf32>
    ```
    - (C1) one offset per buffer.
    - (C2) the kernel exists, and its kind takes this number of buffers and
      params and writes this number of outputs.
    - (C3) every offset lies in its buffer; a cache's is 0.
    - (C4) at every n of the program the params are what the kernel's contract
      takes, and every buffer has the bytes that it touches then.
    - (C5) the kernel's page, entry width, heads and element type are those of
      the cache that it is given; what it takes for a cache is one, all else is
      none.
    - (C6) the buffers of a kernel with a body have the types that it takes,
      with at least as many rows as there are tasks.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<Exec_Buffer>:$buffers,
                       Optional<Exec_LiveNumber>:$live,
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
  let summary = "How the CPU's threads share the calls, from some n on";
  let description = [{
    The CPU's; other targets do not look at it. The calls or dispatches of the
    program, in their order, are divided into stages, with a barrier before each
    but the first: within a stage a thread goes on to the next call as soon as
    its own share of the one before is done. A share is a contiguous range of
    the tasks, the same for the same number of tasks; of a `solo` call the first
    thread has all. It holds up to the n at which the next schedule begins.
    `exec-form-stages` writes it; without one there is a barrier before every
    call, and all are divided.

    Example:
    ```mlir
    exec.schedule from 1 [[solo, solo], [all, all], [solo]]
    exec.schedule from 9 [[solo], [all], [all, all], [all]]
    ```
    - (C1) begin and steps are those of one of the program's schedules
      (`exec.program`, C3).
  }];
  let arguments = (ins I64Attr:$begin, DenseI8ArrayAttr:$steps);
  let assemblyFormat = "`from` $begin custom<Stages>($steps) attr-dict";
  let extraClassDeclaration = [{
    /// The bits of a step.
    static constexpr int8_t kSolo = 1, kJoined = 2;
    bool isSolo(size_t call) { return (getSteps()[call] & kSolo) != 0; }
    /// Whether no barrier stands before a call.
    bool isJoined(size_t call) { return (getSteps()[call] & kJoined) != 0; }
  }];
}

def Exec_InputOp : Exec_Op<"input", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "A tensor that the caller of a function gives";
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
  let summary = "A value that outlives its program";
  let description = [{
    Names a value that the host may read after the program ran: a function's
    results, a decode program's logits. `for` is that of `mtp.output`: requests
    may ask for it.

    Example:
    ```mlir
    exec.output "logits" %0 : memref<3x4096xf32>
    exec.output "doubt" %1 for tokens : memref<3xf32>
    ```
    - (C1) the value is a tensor or buffer of f32, bf16, i8, i32 or i64, static
      but for the number of rows.
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
  let summary = "Where a round may stop for the host";
  let description = [{
    What stands before it is a round's first half, and all else the second. A
    target may run one without the other; between them the host reads the
    outputs `drafts` and `parents`, and writes inputs of slots. No call moves
    across, and no thread begins the second half before all have ended the
    first.

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
  let summary = "Where that begins which only requests ask for";
  let description = [{
    What stands behind it is needed for outputs `for` slots or tokens alone, and
    runs where a request has asked for one of them. No call moves across, and no
    thread begins it before all have ended what is in front.

    Example:
    ```mlir
    exec.on_request
    ```
    - (C1) it stands once, in a decode or prefill program, between two calls or
      dispatches, behind `exec.await_host`.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // EXEC_PROGRAM_OPS
