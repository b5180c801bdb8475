//===- HostImports.cpp - Functions that an image calls --------------------===//

#include "test/GpuSim/target/HostLowering.h"

using namespace llvm;

CallInst *mtp::gpu::HostImports::call(IRBuilderBase &builder, StringRef name,
                                      FunctionType *type,
                                      ArrayRef<Value *> arguments) {
  PointerType *pointer = builder.getPtrTy();
  auto found = llvm::find_if(
      slots, [&](const auto &entry) { return entry.first == name; });
  GlobalVariable *slot;
  if (found != slots.end()) {
    slot = found->second;
  } else {
    // Private to the image, so that another image's slot cannot replace it.
    slot = new GlobalVariable(
        module, pointer, /*isConstant=*/false, GlobalValue::PrivateLinkage,
        ConstantPointerNull::get(pointer), "mtp_sim_slot." + name);
    // The simulator fills the slot. Otherwise the optimiser would treat it as a
    // null that never changes.
    slot->setExternallyInitialized(true);
    slots.insert(
        {slot->getName().drop_front(sizeof("mtp_sim_slot.") - 1), slot});
  }
  CallInst *call =
      builder.CreateCall(type, builder.CreateLoad(pointer, slot), arguments);
  call->setConvergent();
  return call;
}
