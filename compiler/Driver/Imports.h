//===- Imports.h - Models that take functions from other files --*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_IMPORTS_H
#define MTP_COMPILER_DRIVER_IMPORTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace mtp::compiler {

/// The folder that the paths of the module at `path` are relative to; "-" is
/// standard input, whose paths are those of the working directory.
std::string folderOf(llvm::StringRef path);

/// Parses the text of the model at `path`, takes what its mtp.import ops name
/// from the files there, and verifies the whole. A name in angle brackets is a
/// file of `libraryFolder`, or where that is empty or has none, of the library
/// that the tools bring. `sources` holds the text of all files from then on,
/// this one's first. Errors go to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp>
parseWithImports(mlir::MLIRContext &context, llvm::SourceMgr &sources,
                 std::unique_ptr<llvm::MemoryBuffer> text,
                 const std::string &path,
                 const std::string &libraryFolder = "");

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_IMPORTS_H
