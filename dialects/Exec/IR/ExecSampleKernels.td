//===- ExecSampleKernels.td - Kinds that sample ------------*- tablegen -*-===//
//
// Builtins of the runtime, and the same as kernels of a target. A target's are
// specialised on what is a param of a builtin.
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
    picks. The values and columns of `parts` panels are there where there are
    parts, tokens where columns are `mapped` to them.
  }];
}

def Exec_SampleScanKernel
    : Exec_Sampler<"SampleScan", "sample_scan", "Other", Exec_Size> {
  let summary = "what each stretch of a row holds for its pick";
  let description = "Buffers: those of `sample`, buckets in place of picks.";
}

def Exec_SampleJoinKernel
    : Exec_Sampler<"SampleJoin", "sample_join", "Rows", Exec_Size> {
  let summary = "a pick from what the stretches of a row hold";
  let description = "Buffers: those of `sample`, buckets before the picks.";
}

def Exec_BuiltinKernel : AttrDef<Exec_Dialect, "BuiltinKernel",
                                 [Exec_KernelAttrInterface]> {
  let mnemonic = "builtin";
  let summary = "a function of the runtime";
  let description = [{
    Widths are params, since the runtime has one function for all. FORMAT.md has
    the names, buffers and params.

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
