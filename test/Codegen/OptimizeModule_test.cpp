//===- OptimizeModule_test.cpp - LLVM's passes for a kernel ---------------===//

#include "compiler/Codegen/OptimizeModule.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <gtest/gtest.h>

using namespace llvm;

/// A loop that emitters have unrolled by two: elements i and i + 1 of two
/// arrays.
static constexpr const char *kUnrolled = R"(
define float @sum(ptr %rows, ptr %factors, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %both, %loop ]
  %r0 = getelementptr inbounds float, ptr %rows, i64 %i
  %a = load float, ptr %r0
  %f0 = getelementptr inbounds float, ptr %factors, i64 %i
  %b = load float, ptr %f0
  %ab = fmul float %a, %b
  %one = fadd float %sum, %ab
  %j = add i64 %i, 1
  %r1 = getelementptr inbounds float, ptr %rows, i64 %j
  %c = load float, ptr %r1
  %f1 = getelementptr inbounds float, ptr %factors, i64 %j
  %d = load float, ptr %f1
  %cd = fmul float %c, %d
  %both = fadd float %one, %cd
  %next = add i64 %i, 2
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret float %both
}
)";

// `i | 1` hides that both addresses differ by a constant. Without loop strength
// reduction each of them then takes instructions of its own.
TEST(OptimizeModule, AddressesOfUnrolledLoopsDifferByConstants) {
  InitializeNativeTarget();
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  ASSERT_NE(target, nullptr) << error;
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, "x86-64-v3", "", TargetOptions(), Reloc::PIC_));

  mtp::codegen::HostContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module =
      parseAssemblyString(kUnrolled, diagnostic, context.get());
  ASSERT_NE(module, nullptr) << diagnostic.getMessage().str();
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  context.optimize(*module, *machine);

  unsigned loads = 0, variable = 0;
  for (Instruction &instruction : instructions(module->getFunction("sum"))) {
    EXPECT_NE(instruction.getOpcode(), Instruction::Or);
    loads += isa<LoadInst>(instruction);
    if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
      variable += !address->hasAllConstantIndices();
  }
  EXPECT_EQ(loads, 4u);
  EXPECT_EQ(variable, 2u);
}
