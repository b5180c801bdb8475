//===- ExecProgramOps.td - Programs and what they do -----------*- tablegen -*-===//

#ifndef EXEC_PROGRAM_OPS
#define EXEC_PROGRAM_OPS

include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_ProgramOp : Exec_Op<"program", [
    Symbol, HasParent<"::mlir::ModuleOp">, IsolatedFromAbove, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "One static program: a decode round, a prefill chunk, a function";
  let description = [{
    `kind` is `decode` (one round for `batch` slots and `k` drafts), `prefill`
    (one chunk of `chunk` rows of one slot; `k` is 0 where the drafter's caches
    are not filled) or `function` (an exported function on given tensors).

    Example:
    ```mlir
    exec.program @decode_b1_k2 "decode" batch 1 k 2 chunk 0 { ... }
    ```
    - C1: kind is decode, prefill or function.
    - C2: decode: batch >= 1, k >= 0, chunk 0; prefill: batch 1, k >= 0,
      chunk >= 1; function: batch, k and chunk 0.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$batch,
                       I64Attr:$k, I64Attr:$chunk);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind `batch` $batch `k` $k `chunk` $chunk attr-dict-with-keyword $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
      "::llvm::StringRef":$kind, "int64_t":$batch, "int64_t":$k,
      "int64_t":$chunk)>];
  let hasVerifier = 1;
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
    ```
    - C1: the resource exists and is one of those.
    - C2: the layer is one of the cache's, and 0 for all else.
    - C3: the type is the resource's: a state's as declared, a constant's shape,
      `positions x dim` for a table, `? x page x entry` for a cache; a weight's
      is static, of its element type, or of i8 where it is quantised.
    - C4: a weight's reference has as many bytes as its packed form.
    - C5: a row is one of a state's, and the type is the row's. Of a state's
      numbers, or a row's, it may be the first.
  }];
  let arguments = (ins FlatSymbolRefAttr:$resource,
                       DefaultValuedAttr<I64Attr, "0">:$layer,
                       OptionalAttr<I64Attr>:$row);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    $resource (`layer` $layer^)? (`row` $row^)? `:` type($result) attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$resource,
                   "int64_t":$layer), [{
      build($_builder, $_state, type, resource, layer, ::mlir::IntegerAttr());
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

    Example:
    ```mlir
    %0 = exec.alloc at 4096 : memref<8x192xf32>
    ```
    - C1: the buffer is static and its bytes fit 63 bits.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<StrAttr>:$input);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = [{
    (`input` $input^)? (`at` $offset^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_DispatchOp : Exec_Op<"dispatch", [
    HasParent<"::mlir::exec::ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a kernel";
  let description = [{
    `tasks` is how many pieces of work the threads may share. The last `outputs`
    buffers are results, written as a whole. What a kernel updates in place
    (state, a cache) stands before them.

    All tasks are done before the next dispatch begins, unless that is `joined`:
    then a thread goes on to it without waiting for the others. A thread's share
    is a contiguous range of the tasks, the same for the same number of tasks;
    `solo` gives all of them to the first thread. `exec-form-stages` sets both.

    Example:
    ```mlir
    exec.dispatch @add_0(%a, %b, %y) params [8] offsets [0, 0, 0] tasks 8 outputs 1
        : memref<8x192xf32>, memref<8x192xf32>, memref<8x192xf32>
    ```
    - C1: one offset per buffer.
    - C2: the kernel exists, and its kind takes this number of buffers and params
      and writes this number of outputs.
    - C3: every offset lies in its buffer; a cache's is 0.
    - C4: tasks are as many as the kernel's kind has for these params.
    - C5: the kernel's page, entry width, heads and element type are those of
      the cache that it is given; what it takes for a cache is one, all else is
      none.
    - C6: the buffers of a kernel with a body have the types that it takes, with
      at least as many rows as there are tasks.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$buffers,
                       DenseI64ArrayAttr:$params, DenseI64ArrayAttr:$offsets,
                       I64Attr:$tasks, I64Attr:$outputs, UnitAttr:$solo,
                       UnitAttr:$joined);
  let assemblyFormat = [{
    $kernel `(` $buffers `)` `params` $params `offsets` $offsets `tasks` $tasks
    `outputs` $outputs (`solo` $solo^)? (`joined` $joined^)? attr-dict `:` type($buffers)
  }];
  let hasVerifier = 1;
}

def Exec_InputOp : Exec_Op<"input", [HasParent<"::mlir::exec::ProgramOp">]> {
  let summary = "A tensor that the caller of a function gives";
  let description = [{
    Example:
    ```mlir
    %x = exec.input "x" : tensor<2x8xf32>
    ```
    - C1: the type is a static tensor of elements that the artifact knows.
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
    results, a decode program's logits.

    Example:
    ```mlir
    exec.output "logits" %0 : memref<3x4096xf32>
    ```
    - C1: the value is a static tensor or buffer of elements that the artifact
      knows.
    - C2: the value is no view.
  }];
  let arguments = (ins StrAttr:$name, AnyType:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // EXEC_PROGRAM_OPS
