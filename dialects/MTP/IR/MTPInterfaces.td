//===- MTPInterfaces.td - Interfaces of operations ---------*- tablegen -*-===//

#ifndef MTP_INTERFACES_TD
#define MTP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def MTP_SlotStateOpInterface : OpInterface<"SlotStateOpInterface"> {
  let cppNamespace = "::mlir::mtp";
  let description = [{
    A symbol that declares state. `mtp.state` says how the state behaves. A
    later pass replaces it by a declaration of the memory with the same name, so
    that loads and stores need no change.
  }];
  let methods = [
    InterfaceMethod<"Returns whether all slots share one copy of the state.",
                    "bool", "getShared">,
    InterfaceMethod<"Returns whether requests bring the state.",
                    "bool", "getInput">,
    InterfaceMethod<"Returns the type of one element.",
                    "::mlir::Type", "getElementType">,
    InterfaceMethod<[{
      Returns the extents of one slot's copy, or of the single copy of a shared
      state. Extents that depend on the envelope are dynamic.
    }], "::llvm::SmallVector<int64_t>", "getExtentSizes">
  ];
}

#endif // MTP_INTERFACES_TD
