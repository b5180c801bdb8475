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
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mtp::gpu;
using namespace llvm;

/// The version of PTX that CUDA 13's drivers read.
static constexpr const char *kPtxVersion = "+ptx90";

static Error ioError(const Twine &message) {
  return createStringError(errc::io_error, message);
}

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
  // Asked first: a machine for a chip that it does not know says so itself.
  if (!subtarget(**found)->isCPUStringValid(chip))
    return createStringError(errc::invalid_argument,
                             "expected a chip such as sm_90, got '" + chip +
                                 "'");
  TargetOptions options;
  // Every fused multiply-add is explicit: a fused one that the backend makes
  // would give a kernel other bits than the simulator and the CPU.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>((*found)->createTargetMachine(
      triple, chip, kPtxVersion, options, Reloc::PIC_, /*CM=*/std::nullopt,
      CodeGenOptLevel::Aggressive));
}

/// Loads of what nobody reads again, `!nontemporal`, as PTX that keeps them out
/// of the L1 cache, which activations need: the backend has no such load. They
/// stay where they are, above the wait.
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

static Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return ioError("cannot read '" + path + "': " + file.getError().message());
  return std::move(*file);
}

/// Runs a program of the toolkit, whose messages go to the file `report`.
static Error runTool(StringRef program, ArrayRef<StringRef> arguments,
                     StringRef report) {
  std::optional<StringRef> redirects[] = {StringRef(""), report, report};
  std::string message;
  int code = sys::ExecuteAndWait(program, arguments, /*Env=*/std::nullopt,
                                 redirects, /*SecondsToWait=*/0,
                                 /*MemoryLimit=*/0, &message);
  if (code == 0)
    return Error::success();
  Expected<std::unique_ptr<MemoryBuffer>> said = readFile(report);
  if (!said)
    return said.takeError();
  return ioError(sys::path::filename(program) +
                 " failed: " + (*said)->getBuffer().trim() + message);
}

namespace {
/// A temporary file that is removed at the end of the scope.
class ScratchFile {
public:
  static Expected<std::unique_ptr<ScratchFile>> create(StringRef suffix) {
    Expected<SmallString<128>> path =
        mtp::codegen::makeTemporary("mtpc-ptx", suffix);
    if (!path)
      return path.takeError();
    return std::make_unique<ScratchFile>(*path);
  }
  explicit ScratchFile(const SmallString<128> &path)
      : name(path), remover(path) {}

  StringRef path() const { return name; }

  Error write(StringRef text) {
    std::error_code error;
    raw_fd_ostream stream(name, error);
    stream << text;
    stream.close();
    if (!error && !stream.has_error())
      return Error::success();
    stream.clear_error();
    return ioError("cannot write a temporary file");
  }

private:
  SmallString<128> name;
  FileRemover remover;
};
} // namespace

static std::string ptxasPath() {
  return sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda") +
         "/bin/ptxas";
}

static Expected<Cubin> assembleWith(StringRef program, StringRef ptx,
                                    StringRef chip) {
  auto input = ScratchFile::create("ptx");
  if (!input)
    return input.takeError();
  auto output = ScratchFile::create("cubin");
  if (!output)
    return output.takeError();
  auto report = ScratchFile::create("txt");
  if (!report)
    return report.takeError();
  if (Error failed = (*input)->write(ptx))
    return std::move(failed);
  std::string arch = ("-arch=" + chip).str();
  StringRef arguments[] = {program,          "-v", arch,
                           (*input)->path(), "-o", (*output)->path()};
  if (Error failed = runTool(program, arguments, (*report)->path()))
    return std::move(failed);
  auto bytes = readFile((*output)->path());
  if (!bytes)
    return bytes.takeError();
  auto said = readFile((*report)->path());
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

/// Digest of a file's contents; empty if it cannot be read.
static std::string contentDigest(StringRef path) {
  auto file = readFile(path);
  if (!file) {
    consumeError(file.takeError());
    return "";
  }
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
