//===- ExecKernels.td - Shared base of all kernel kinds ----*- tablegen -*-===//
//
// A kernel is an attribute, one per kind, whose parameters are the kernel's
// compile-time constants: widths, formats and numbers, but never a number of
// rows. Exec*Kernels.td defines the kinds beside the ops that become them. The
// .cpp file of the same name describes the buffers and tasks of each kind
// (KernelContract.h).
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_KERNELS
#define EXEC_KERNELS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

/// A parameter. A number whose type has a `least` is at least that.
class Exec_Param<string type, string default = "">
    : AttrOrTypeParameter<type, ""> {
  int least = -1;
  /// The C++ default value, matching the default in the text of a module.
  string whenLeftOut = !if(!empty(default), "{}", default);
  let defaultValue = !if(!empty(default), ?, default);
}
class Exec_Number<int leastNumber, string default = "">
    : Exec_Param<"int64_t", default> {
  let least = leastNumber;
}

/// Widths, heads, rows: at least 1. An optional parameter gives its default.
def Exec_Size : Exec_Number<1>;
def Exec_SizeOrOne : Exec_Number<1, "1">;
/// A width, a number of heads or a number of rows; 0: none.
def Exec_SizeOrNone : Exec_Number<0, "0">;
/// Elements from one row to the next; 0: rows lie side by side.
def Exec_Stride : Exec_Number<0, "0">;
/// Elements, or columns, before the first one.
def Exec_Begin : Exec_Number<0, "0">;
/// Number of rows of a buffer that the kernel indexes by numbers that it reads,
/// so that it can clamp them. A kernel without the number has no known
/// contract, and can only be compiled for inspection.
def Exec_RowLimit : Exec_Number<0, "0">;
def Exec_Flag : Exec_Param<"bool", "false">;
def Exec_Real : Exec_Param<"::mlir::FloatAttr">;
def Exec_RealOrNone : Exec_Param<"::mlir::FloatAttr", "::mlir::FloatAttr()">;
/// A number that is added to a norm's weight.
def Exec_NormOffset : Exec_Param<"int64_t", "0">;
/// Element type of a cache: f32, bf16 or i8.
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

/// One kind. `params` is the number of 64-bit scalars of a dispatch, rows or
/// slots first; `division` is the division of work into tasks. `hasTasks`:
/// tasks are not single rows or slots (getTasks). `hasRules`: parameters are
/// checked together (verifyRules).
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
