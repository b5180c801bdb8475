//===- MTPOpBase.td - What all operations share ------------*- tablegen -*-===//

#ifndef MTP_OP_BASE_TD
#define MTP_OP_BASE_TD

include "dialects/MTP/IR/MTPAttrs.td"
include "dialects/MTP/IR/MTPTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// (shapes_c1) element counts fit; (shapes_c2) no extent is zero.
def MTP_BoundedShapes : NativeOpTrait<"BoundedShapes"> {
  let cppNamespace = "::mlir::mtp";
}

class MTP_Op<string mnemonic, list<Trait> traits = []>
    : Op<MTP_Dialect, mnemonic, !listconcat([MTP_BoundedShapes], traits)>;

/// The pages behind all caches. Appends and reads are ordered by it.
def MTP_CacheResource : Resource<"::mlir::mtp::CacheResource">;
/// The per-slot state that outlives a round: lengths, windows, hidden states.
def MTP_SlotResource : Resource<"::mlir::mtp::SlotResource">;

#endif // MTP_OP_BASE_TD
