//===- ExecKernels.td - What all kinds of kernels share ----*- tablegen -*-===//
//
// A kernel is an attribute: one per kind, with what a kernel of the kind is
// specialised on as parameters. Widths, formats and constants are among them,
// never a number of rows. Kinds stand beside the ops that become them, in
// Exec*Kernels.td, and in the .cpp of the same name what they touch and into
// how many tasks they divide (KernelContract.h).
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_KERNELS
#define EXEC_KERNELS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

/// A parameter; a number of a type that has a `least` is at least that.
class Exec_Param<string type, string default = "">
    : AttrOrTypeParameter<type, ""> {
  int least = -1;
  /// Of a C++ value, in place of the text of a module.
  string whenLeftOut = !if(!empty(default), "{}", default);
  let defaultValue = !if(!empty(default), ?, default);
}
class Exec_Number<int leastNumber, string default = "">
    : Exec_Param<"int64_t", default> {
  let least = leastNumber;
}

/// Widths, heads, rows: at least 1. What may be left out says what it is then.
def Exec_Size : Exec_Number<1>;
def Exec_SizeOrOne : Exec_Number<1, "1">;
/// 0: none.
def Exec_SizeOrNone : Exec_Number<0, "0">;
/// Elements from one row to the next; 0: rows lie side by side.
def Exec_Stride : Exec_Number<0, "0">;
/// Elements, or columns, before the first one.
def Exec_Begin : Exec_Number<0, "0">;
/// Rows of a buffer that the kernel finds by numbers which it reads, so that
/// it can clamp them. A kernel without it is for nothing but a look at its
/// code: its contract is not known.
def Exec_RowLimit : Exec_Number<0, "0">;
def Exec_Flag : Exec_Param<"bool", "false">;
def Exec_Real : Exec_Param<"::mlir::FloatAttr">;
def Exec_RealOrNone : Exec_Param<"::mlir::FloatAttr", "::mlir::FloatAttr()">;
/// What is added to a norm's weight.
def Exec_NormOffset : Exec_Param<"int64_t", "0">;
/// Elements of a cache: f32 or bf16.
def Exec_CacheElements : Exec_Param<"::mlir::Type">;
def Exec_WeightFormat : Exec_Param<"::mlir::exec::FormatAttr">;
/// Outputs in a panel.
def Exec_PanelWidth
    : Exec_Number<1, "::mlir::exec::formatPanelWidth()">;
def Exec_Rotation : Exec_Param<"::mlir::exec::RotationAttr">;
def Exec_RotationOrNone
    : Exec_Param<"::mlir::exec::RotationAttr", "::mlir::exec::RotationAttr()">;

class Exec_EnumParam<string type, string default = "">
    : Exec_Param<type, default>;
def Exec_Activation : Exec_EnumParam<"::mlir::mtp::ActivationKind",
                                     "::mlir::mtp::ActivationKind::None">;
def Exec_RouterScoring : Exec_EnumParam<"::mlir::mtp::Scoring">;

/// One kind. `params` is how many 64-bit scalars a dispatch has, rows or slots
/// first; `division` how work divides into tasks. What else a kind says:
/// `hasTasks`, that its tasks are none of one row or slot each (getTasks);
/// `hasRules`, that its parameters are checked together (verifyRules).
class Exec_Kernel<string name, string kind, int params, string division,
                  dag kernelParameters>
    : AttrDef<Exec_Dialect, name # "Kernel", [Exec_KernelAttrInterface]> {
  bit hasTasks = !eq(division, "Other");
  bit hasRules = false;
  code methods = "";
  let mnemonic = kind;
  let parameters = kernelParameters;
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// All parameters by name, in the order of the definition.
    struct Params {
  }] # !interleave(!foreach(i, !range(!size(kernelParameters)),
       "  " # !getdagarg<Exec_Param>(kernelParameters, i).cppType # " "
       # !getdagname(kernelParameters, i) # " = "
       # !getdagarg<Exec_Param>(kernelParameters, i).whenLeftOut # ";\n"), "")
  # [{};
    static }] # name # [{KernelAttr get(::mlir::MLIRContext *context,
                                       const Params &params);
    static constexpr ::llvm::StringLiteral kKind = "}] # kind # [{";
    ::llvm::StringRef getKind() const { return kKind; }
    int64_t getParamCount() const { return }] # params # [{; }
    ::mlir::exec::Division getDivision() const {
      return ::mlir::exec::Division::}] # division # [{;
    }
    void describe(::mlir::exec::ContractWriter &w) const;
    ::llvm::LogicalResult
    verifySizes(::mlir::exec::KernelErrorFn emitError) const;
  }] # !if(hasTasks, "::mlir::exec::TaskShape getTasks() const;\n", "")
     # !if(hasRules, [{
    ::llvm::LogicalResult
    verifyRules(::mlir::exec::KernelErrorFn emitError) const;
  }], "") # methods;
  let extraClassDefinition = [{
    $cppClass $cppClass::get(::mlir::MLIRContext *context,
                             const Params &params) {
      return get(context}] # !interleave(!foreach(i,
          !range(!size(kernelParameters)), ", params."
          # !getdagname(kernelParameters, i)), "") # [{);
    }
    ::llvm::LogicalResult
    $cppClass::verifySizes(::mlir::exec::KernelErrorFn emitError) const {
      [[maybe_unused]] auto values = getImpl()->getAsKey();
  }] # !interleave(!foreach(i, !range(!size(kernelParameters)),
       !if(!lt(!getdagarg<Exec_Param>(kernelParameters, i).least, 0), "",
         "  if (failed(::mlir::exec::verifyLeast(emitError, \""
         # !getdagname(kernelParameters, i) # "\", std::get<" # i
         # ">(values), " # !getdagarg<Exec_Param>(kernelParameters, i).least
         # ")))\n    return ::mlir::failure();\n")), "") # [{
      return ::mlir::success();
    }
  }];
}

#endif // EXEC_KERNELS
