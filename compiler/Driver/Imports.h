//===- Imports.h - Models that import from other files ----------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_IMPORTS_H
#define MTP_COMPILER_DRIVER_IMPORTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace mtp::compiler {

/// Returns the folder that the paths of the module at `path` are relative to.
/// For "-", standard input, it is the working directory.
std::string folderOf(llvm::StringRef path);

/// Parses the text of the model at `path`, imports the functions that its
/// mtp.import ops name, and verifies the whole module. A name in angle brackets
/// is a file of `libraryFolder`. If `libraryFolder` is empty or lacks the file,
/// the name is a file of the library that the tools contain. `sources` holds
/// the text of all files from then on, with this file first. Errors go to the
/// context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp>
parseWithImports(mlir::MLIRContext &context, llvm::SourceMgr &sources,
                 std::unique_ptr<llvm::MemoryBuffer> text,
                 const std::string &path,
                 const std::string &libraryFolder = "");

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_IMPORTS_H
