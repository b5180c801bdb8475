//===- ExecSampleKernels.td - Kinds that sample ------------*- tablegen -*-===//
//
// Builtins of the runtime, and equivalent kernels of a target. A param of a
// builtin is a compile-time parameter of a target's kernel.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_SAMPLE_KERNELS
#define EXEC_SAMPLE_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

class Exec_Sampler<string name, string kind, string division, Exec_Param parts>
    : Exec_Kernel<name, kind, 1, division, (ins
        Exec_Size:$vocab, parts:$parts, Exec_Flag:$mapped,
        Exec_RowLimit:$slots)>;

def Exec_SampleKernel
    : Exec_Sampler<"Sample", "sample", "Rows", Exec_SizeOrNone> {
  let summary = "a pick for each row of logits";
  let description = [{
    Buffers: [values, columns], logits, [tokens], slots, positions, sampling,
    picks. The values and columns of `parts` panels are present if `parts` is
    not 0, and tokens if columns are `mapped` to them.
  }];
}

def Exec_SampleScanKernel
    : Exec_Sampler<"SampleScan", "sample_scan", "Other", Exec_Size> {
  let summary = "the partial results of each stretch of a row for its pick";
  let description = "Buffers: as `sample`, with buckets in place of picks.";
}

def Exec_SampleJoinKernel
    : Exec_Sampler<"SampleJoin", "sample_join", "Rows", Exec_Size> {
  let summary = "a pick from the partial results of a row's stretches";
  let description = "Buffers: as `sample`, with buckets before the picks.";
}

def Exec_ProcessLogitsKernel
    : Exec_Kernel<"ProcessLogits", "process_logits", 1, "Rows", (ins
        Exec_Size:$width, Exec_SizeOrNone:$parts, Exec_SizeOrNone:$nodes,
        Exec_SizeOrNone:$depth, Exec_Flag:$placed, Exec_SizeOrNone:$masks,
        Exec_SizeOrNone:$vocab, Exec_RowLimit:$slots)> {
  let summary = "logits with the rules of their slots, in place";
  let description = [{
    Buffers: [values, columns], logits, slots, positions, [places], [path,
    length], rules, counts, bias, [masks], [tokens]. The values and columns of
    `parts` panels are present if `parts` is not 0, places with `placed`, path
    and length if a window has `nodes`, and masks if a slot has `masks` rows.
    Columns stand for tokens below `vocab` if it is not 0.
  }];
}

def Exec_BuiltinKernel : AttrDef<Exec_Dialect, "BuiltinKernel",
                                 [Exec_KernelAttrInterface]> {
  let mnemonic = "builtin";
  let summary = "a function of the runtime";
  let description = [{
    Widths are params, because the runtime has one function for all widths.
    FORMAT.md lists names, buffers and params.

    ```mlir
    #exec.builtin<"mtp.sample_parts">
    ```

    Constraints:
    - (C1) the runtime has a function of that name.
  }];
  let parameters = (ins StringRefParameter<>:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getKind() const { return getName(); }
    int64_t getParamCount() const { return 3; }
    ::mlir::exec::Division getDivision() const;
    void describe(::mlir::exec::ContractWriter &w) const;
    ::llvm::LogicalResult
    verifySizes(::mlir::exec::KernelErrorFn) const {
      return ::mlir::success();
    }
    bool isBuiltin() const { return true; }
  }];
}

#endif // EXEC_SAMPLE_KERNELS
