//===- ExecCallOps.td - Shared base of typed kernel calls --*- tablegen -*-===//
//
// One op per kernel family, in value form. A call's operands, in the order of
// its definition, are the kernel's first buffers, and its results are the last
// buffers. Widths and strides follow from types and views (`exec.columns`). An
// attribute gives only what types and views do not. The number of rows is a
// count (`#exec.count`), or static if it does not grow with n.
//
//===----------------------------------------------------------------------===//

#ifndef EXEC_CALL_OPS
#define EXEC_CALL_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Extents are static; the number of rows may be a count.
def Exec_CountedShapePred : CPred<
    "::mlir::exec::hasCountedShape(::llvm::cast<::mlir::ShapedType>($_self))">;

class Exec_CountedTensor<list<Type> elements, list<int> ranks, string summary>
    : ConfinedType<TensorRankOf<elements, ranks>, [Exec_CountedShapePred],
                   summary, "::mlir::RankedTensorType">;
class Exec_StaticBuffer<list<Type> elements, list<int> ranks, string summary>
    : ConfinedType<MemRefRankOf<elements, ranks>, [HasStaticShapePred], summary,
                   "::mlir::MemRefType">;
class Exec_CountedBuffer<list<Type> elements, list<int> ranks, string summary>
    : ConfinedType<MemRefRankOf<elements, ranks>, [Exec_CountedShapePred],
                   summary, "::mlir::MemRefType">;
class Exec_Operand<list<Type> elements, list<int> ranks, string summary>
    : AnyTypeOf<[Exec_CountedTensor<elements, ranks, summary>,
                 Exec_CountedBuffer<elements, ranks, summary>], summary,
                "::mlir::ShapedType">;

/// An activation: a row per row of the call.
def Exec_Rows : Exec_Operand<[F32], [2], "rows of f32">;
/// A number per row: a token, a slot, a position.
def Exec_Numbers : Exec_Operand<[I32], [1], "a number of i32 per row">;
/// Numbers in rows, one row per slot, token or row.
def Exec_NumberRows : Exec_Operand<[I32], [2], "rows of i32">;
/// A state of words: its slots, rows per slot if there are several, and words.
def Exec_StateWords
    : Exec_StaticBuffer<[I32], [2, 3], "a state's rows of i32">;
/// A vector stored unpacked: a norm's weight, a bias.
def Exec_Vector : Exec_Operand<[F32], [1, 2], "a vector of f32">;
/// Panels, or the rows of a table; quantised elements are bytes.
def Exec_Packed : Exec_Operand<[F32, BF16, I8], [2, 3, 4], "a packed weight">;

def Exec_RowsResult : Exec_CountedTensor<[F32], [2], "static rows of f32">;
def Exec_NumbersResult
    : Exec_CountedTensor<[I32], [1], "a static number of i32 per row">;
def Exec_NumberRowsResult
    : Exec_CountedTensor<[I32], [2], "static rows of i32">;

/// Element type of a cache.
def Exec_ElementAttr : TypeAttrOf<AnyTypeOf<[F32, BF16, I8],
                                            "f32, bf16 or i8">>;

class Exec_SameRows<list<string> names>
    : AllMatchSameOperatorTrait<names, "::mlir::exec::rowsOf($_self)", "rows">;
class Exec_SameShape<list<string> names>
    : AllMatchSameOperatorTrait<names, "::mlir::exec::extentsOf($_self)",
                                "shape">;
/// The value of an operand or result; null for an optional one that is not
/// given.
class Exec_Get<string name> {
  string value = "get" # !toupper(!substr(name, 0, 1))
                 # !substr(name, 1) # "()";
}
/// An optional value has the shape of `other`.
class Exec_OptionalLike<string optional, string other>
    : PredOpTrait<optional # " to have the shape of " # other,
        CPred<"!" # Exec_Get<optional>.value # " || ::mlir::exec::extentsOf("
              # Exec_Get<optional>.value # ") == ::mlir::exec::extentsOf($"
              # other # ")">>;
/// Rows follow each other without a gap, or the value is not given.
class Exec_Whole<string name> : PredOpTrait<name # " to be no view",
    CPred<"::mlir::exec::isWhole(" # Exec_Get<name>.value # ")">>;
/// All of these are given, or none.
class Exec_Together<list<string> names>
    : PredOpTrait<!interleave(names, ", ") # " to be given together",
        AllMatchPred<!foreach(name, names,
                              "bool(" # Exec_Get<name>.value # ")")>>;
/// eps is given if and only if a norm is.
def Exec_NormWithEpsilon : PredOpTrait<"eps to be given with norm alone",
    CPred<"getEps().has_value() == bool(getNorm())">>;

/// `inputs` are the arguments, `syntax` is their assembly format.
class Exec_CallOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, traits # [
        HasParent<"::mlir::exec::ProgramOp">, Exec_KernelOpInterface,
        MemoryEffectsOpInterface]> {
  dag inputs = (ins);
  string syntax = "";
  code methods = "";
  let arguments = inputs;
  let assemblyFormat = syntax #
    " attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::exec::KernelAttrInterface makeKernel();
    void getEffects(::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<
        ::mlir::MemoryEffects::Effect>> &effects) {
      ::mlir::exec::addKernelEffects(*this, effects);
    }
  }] # methods;
}

#endif // EXEC_CALL_OPS
