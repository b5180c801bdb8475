//===- PrepareForPtxas.cpp - Workarounds for ptxas ------------------------===//

#include "compiler/Codegen/GPU/target/PrepareForPtxas.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

/// Forbids ptxas to unroll loops in kernels that must leave registers to other
/// blocks. Loads of an unrolled loop take all registers, and sums are spilled.
static void keepLoopsRolled(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration() || !function.hasFnAttribute("nvvm.minctasm"))
      continue;
    DominatorTree tree(function);
    LoopInfo loops(tree);
    for (Loop *loop : loops.getLoopsInPreorder())
      addStringMetadataToLoop(loop, "llvm.loop.unroll.disable");
  }
}

/// Takes the low bits of a float by an instruction of its own. PTX may store
/// them right from the float's register (`st.b8 [a], %r` after
/// `fma.rn.f32 %r`). But ptxas 12.9 and 13.0 then convert the number
/// (F2IP.U8.F32.TRUNC), as seen on an H100. LLVM does not look into inline
/// assembly, and so cannot remove the instruction.
static void maskFloatBits(Module &module) {
  SmallVector<TruncInst *> found;
  Value *number;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *low = dyn_cast<TruncInst>(&instruction))
        if (PatternMatch::match(
                low->getOperand(0),
                PatternMatch::m_BitCast(PatternMatch::m_Value(number))) &&
            number->getType()->isFloatTy())
          found.push_back(low);
  for (TruncInst *low : found) {
    IRBuilder<> builder(low);
    Type *word = builder.getInt32Ty();
    unsigned bits = low->getType()->getIntegerBitWidth();
    auto *text = InlineAsm::get(
        FunctionType::get(word, {word}, false),
        "and.b32 $0, $1, " + std::to_string((uint64_t(1) << bits) - 1) + ";",
        "=r,r", /*hasSideEffects=*/false);
    low->setOperand(0, builder.CreateCall(text, {low->getOperand(0)}));
    low->setHasNoSignedWrap(false);
  }
}

void mtp::gpu::prepareForPtxas(Module &module) {
  keepLoopsRolled(module);
  maskFloatBits(module);
}
