//===- EmitPtx.cpp - GPU kernels as PTX and cubin -------------------------===//

#include "compiler/Codegen/GPU/target/EmitPtx.h"

#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/PrepareForPtxas.h"
#include "compiler/Codegen/OptimizeModule.h"
#include "compiler/Codegen/TemporaryFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mtp::gpu;
using namespace llvm;
using mtp::codegen::TemporaryFile;

/// PTX version that CUDA 13's drivers read.
static constexpr const char *kPtxVersion = "+ptx90";

static Expected<const Target *> findTarget(const Triple &triple) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  if (const Target *found = TargetRegistry::lookupTarget(triple, error))
    return found;
  return createStringError(errc::not_supported, "cannot make PTX: " + error);
}

static Triple nvptx() { return Triple("nvptx64-nvidia-cuda"); }

static std::unique_ptr<MCSubtargetInfo> subtarget(const Target &target) {
  return std::unique_ptr<MCSubtargetInfo>(
      target.createMCSubtargetInfo(nvptx(), /*CPU=*/"", /*Features=*/""));
}

std::vector<std::string> mtp::gpu::knownChips() {
  std::vector<std::string> chips;
  Expected<const Target *> found = findTarget(nvptx());
  if (!found) {
    consumeError(found.takeError());
    return chips;
  }
  std::unique_ptr<MCSubtargetInfo> info = subtarget(**found);
  for (const SubtargetSubTypeKV &chip : info->getAllProcessorDescriptions()) {
    StringRef digits = StringRef(chip.Key).drop_front(strlen("sm_"));
    unsigned number = 0;
    if (!digits.consumeInteger(10, number) && number >= kLeastChip)
      chips.push_back(chip.Key);
  }
  return chips;
}

Expected<std::unique_ptr<TargetMachine>>
mtp::gpu::makePtxMachine(StringRef chip) {
  Triple triple = nvptx();
  Expected<const Target *> found = findTarget(triple);
  if (!found)
    return found.takeError();
  // Checked first: creating a machine for an unknown chip prints an error.
  if (!subtarget(**found)->isCPUStringValid(chip))
    return createStringError(errc::invalid_argument,
                             "expected a chip such as sm_90, got '" + chip +
                                 "'");
  TargetOptions options;
  // Every fused multiply-add is explicit. One that the backend made would give
  // the kernel other bits than the simulator and the CPU.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>((*found)->createTargetMachine(
      triple, chip, kPtxVersion, options, Reloc::PIC_, /*CM=*/std::nullopt,
      CodeGenOptLevel::Aggressive));
}

/// Replaces loads of data that is read once (`!nontemporal`) by PTX that keeps
/// them out of the L1 cache, which activations need. The backend has no such
/// load. The loads stay in place, before the wait.
static void expandLoadsOnce(Module &module) {
  SmallVector<LoadInst *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        if (load->hasMetadata(LLVMContext::MD_nontemporal))
          found.push_back(load);
  for (LoadInst *load : found) {
    IRBuilder<> builder(load);
    Type *word = builder.getInt32Ty();
    auto *vector = cast<FixedVectorType>(load->getType());
    unsigned count = vector->getNumElements();
    std::string results, constraints;
    for (unsigned i = 0; i < count; ++i) {
      results += (i ? ", $" : "$") + std::to_string(i);
      constraints += "=r,";
    }
    auto *type =
        StructType::get(module.getContext(), SmallVector<Type *>(count, word));
    auto *text = InlineAsm::get(
        FunctionType::get(type, {load->getPointerOperandType()}, false),
        "ld.global.L1::no_allocate.v" + std::to_string(count) + ".b32 {" +
            results + "}, [$" + std::to_string(count) + "];",
        constraints + "l", /*hasSideEffects=*/true);
    Value *loaded = builder.CreateCall(text, {load->getPointerOperand()});
    Value *words = PoisonValue::get(FixedVectorType::get(word, count));
    for (unsigned i = 0; i < count; ++i)
      words = builder.CreateInsertElement(
          words, builder.CreateExtractValue(loaded, i), i);
    load->replaceAllUsesWith(builder.CreateBitCast(words, vector));
    load->eraseFromParent();
  }
}

void mtp::gpu::optimizeForPtx(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  expandLoadsOnce(module);
  mtp::codegen::optimizeModule(module, machine);
  prepareForPtxas(module);
}

Expected<std::string> mtp::gpu::writePtx(Module &module,
                                         TargetMachine &machine) {
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, stream, nullptr,
                                  CodeGenFileType::AssemblyFile))
    return createStringError(errc::not_supported, "cannot emit PTX");
  codegen.run(module);
  return text.str().str();
}

Expected<std::string> mtp::gpu::emitPtx(Module &module, StringRef chip) {
  auto machine = makePtxMachine(chip);
  if (!machine)
    return machine.takeError();
  optimizeForPtx(module, **machine);
  return writePtx(module, **machine);
}

static std::string ptxasPath() {
  return sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda") +
         "/bin/ptxas";
}

/// Runs ptxas over files. The report gets its messages, including errors.
static Error runPtxas(ArrayRef<StringRef> arguments,
                      const TemporaryFile &report) {
  std::optional<StringRef> redirects[] = {StringRef(""), report.path(),
                                          report.path()};
  std::string message;
  int code =
      sys::ExecuteAndWait(arguments.front(), arguments,
                          /*Env=*/std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (code == 0)
    return Error::success();
  auto said = report.read();
  if (!said)
    return said.takeError();
  return createStringError(
      errc::io_error, "ptxas failed: " + (*said)->getBuffer().trim() + message);
}

static Expected<Cubin> assembleWith(StringRef program, StringRef ptx,
                                    StringRef chip) {
  std::unique_ptr<TemporaryFile> input, output, report;
  for (auto [file, suffix] :
       {std::pair(&input, "ptx"), std::pair(&output, "cubin"),
        std::pair(&report, "txt")}) {
    auto created = TemporaryFile::create("mtpc-ptx", suffix);
    if (!created)
      return created.takeError();
    *file = std::move(*created);
  }
  if (Error failed = input->write(ptx))
    return std::move(failed);
  std::string arch = ("-arch=" + chip).str();
  if (Error failed = runPtxas(
          {program, "-v", arch, input->path(), "-o", output->path()}, *report))
    return std::move(failed);
  auto bytes = output->read();
  if (!bytes)
    return bytes.takeError();
  auto said = report->read();
  if (!said)
    return said.takeError();
  StringRef contents = (*bytes)->getBuffer();
  return Cubin{{contents.begin(), contents.end()},
               /*absence=*/"",
               (*said)->getBuffer().str()};
}

Expected<Cubin> mtp::gpu::assemblePtx(StringRef ptx, StringRef chip) {
  std::string program = ptxasPath();
  if (!sys::fs::can_execute(program)) {
    Cubin none;
    none.absence = "no ptxas at '" + program + "'";
    return none;
  }
  return assembleWith(program, ptx, chip);
}

/// Returns the digest of a file's contents, or an empty string if it cannot be
/// read.
static std::string contentDigest(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return "";
  BLAKE3 hasher;
  hasher.update((*file)->getBuffer());
  return toHex(hasher.final<16>());
}

const std::string &mtp::gpu::assemblerIdentity() {
  static const std::string identity = [] {
    std::string program = ptxasPath();
    return sys::fs::can_execute(program) ? "ptxas " + contentDigest(program)
                                         : std::string("no ptxas");
  }();
  return identity;
}
