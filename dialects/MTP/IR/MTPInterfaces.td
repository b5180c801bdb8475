//===- MTPInterfaces.td - Interfaces of operations ---------*- tablegen -*-===//

#ifndef MTP_INTERFACES_TD
#define MTP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def MTP_SlotStateOpInterface : OpInterface<"SlotStateOpInterface"> {
  let cppNamespace = "::mlir::mtp";
  let description = [{
    A symbol that declares state. `mtp.state` says how the state behaves; what
    declares its memory later takes the same name, so that loads and stores stay
    as they are.
  }];
  let methods = [
    InterfaceMethod<"Whether all slots have the state in common.",
                    "bool", "getShared">,
    InterfaceMethod<"Whether requests bring it, and programs only read it.",
                    "bool", "getInput">,
    InterfaceMethod<"The type of one element.",
                    "::mlir::Type", "getElementType">,
    InterfaceMethod<[{
      The extents of what one slot has, or, where it is shared, of all of it.
      Dynamic ones depend on the envelope.
    }], "::llvm::SmallVector<int64_t>", "getExtentSizes">
  ];
}

#endif // MTP_INTERFACES_TD
