//===- gpu_compile.cpp - Compiles the gpu.module of a file ----------------===//
//
// usage: mtp_gpu_compile IN.mlir --chip=CHIP -o OUT
//
// --chip=sim writes an image for gpu-sim to OUT. Another chip (sm_90) writes
// OUT.ptx and, if ptxas is found, OUT.cubin. PTX also goes to the standard
// output.
//
//===----------------------------------------------------------------------===//

#include "CompileText.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mtp::gpusim::test;

static int complain(const std::string &message) {
  llvm::errs() << "mtp_gpu_compile: error: " << message << "\n";
  return 1;
}

static bool writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return false;
  stream << bytes;
  return true;
}

static int compileForSim(const std::string &text, const std::string &out) {
  CompiledImage compiled = compileForSimulator(text);
  if (!compiled.error.empty())
    return complain(compiled.error);
  llvm::StringRef bytes(compiled.image.data(), compiled.image.size());
  return writeFile(out, bytes) ? 0 : complain("cannot write '" + out + "'");
}

static int compileForGpu(const std::string &text, const std::string &chip,
                         const std::string &out) {
  CompiledPtx compiled = compileToPtx(text, chip);
  if (!compiled.error.empty())
    return complain(compiled.error);
  llvm::outs() << compiled.ptx;
  if (!writeFile(out + ".ptx", compiled.ptx))
    return complain("cannot write '" + out + ".ptx'");
  if (!compiled.absence.empty()) {
    llvm::errs() << "mtp_gpu_compile: no cubin: " << compiled.absence << "\n";
    return 0;
  }
  llvm::errs() << compiled.report;
  llvm::StringRef bytes(compiled.cubin.data(), compiled.cubin.size());
  return writeFile(out + ".cubin", bytes)
             ? 0
             : complain("cannot write '" + out + ".cubin'");
}

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required,
                                   llvm::cl::desc("IN.mlir"));
  llvm::cl::opt<std::string> chip("chip", llvm::cl::Required);
  llvm::cl::opt<std::string> output("o", llvm::cl::Required);
  llvm::cl::ParseCommandLineOptions(argc, argv);
  auto file = llvm::MemoryBuffer::getFile(input);
  if (!file)
    return complain("cannot read '" + input + "'");
  std::string text = (*file)->getBuffer().str();
  // Copied, because lld, as a library, resets all of LLVM's options.
  std::string name = chip.c_str(), out = output.c_str();
  return name == "sim" ? compileForSim(text, out)
                       : compileForGpu(text, name, out);
}
