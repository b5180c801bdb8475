//===- MTPOpBase.td - Shared base of all operations --------*- tablegen -*-===//

#ifndef MTP_OP_BASE_TD
#define MTP_OP_BASE_TD

include "dialects/MTP/IR/MTPAttrs.td"
include "dialects/MTP/IR/MTPTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// (shapes_c1) element counts fit; (shapes_c2) no extent is zero except around
/// and in mtp.per_slot.
def MTP_BoundedShapes : NativeOpTrait<"BoundedShapes"> {
  let cppNamespace = "::mlir::mtp";
}

/// The op may stand in the body of an mtp.per_slot; see `isControlOp`.
def MTP_InControlBody : NativeOpTrait<"InControlBody"> {
  let cppNamespace = "::mlir::mtp";
}

class MTP_Op<string mnemonic, list<Trait> traits = []>
    : Op<MTP_Dialect, mnemonic, !listconcat([MTP_BoundedShapes], traits)>;

/// The pages of all caches. It orders appends and reads.
def MTP_CacheResource : Resource<"::mlir::mtp::CacheResource">;
/// State that outlives a round: lengths, windows, hidden states, and the states
/// that the host and the programs share. An effect may name the state.
def MTP_SlotResource : Resource<"::mlir::mtp::SlotResource">;
/// State that recurrent layers carry from row to row.
def MTP_RecurrenceResource : Resource<"::mlir::mtp::RecurrenceResource">;
/// Outputs that the host reads after a program has run.
def MTP_HostResource : Resource<"::mlir::mtp::HostResource">;

#endif // MTP_OP_BASE_TD
