//===- Importer.h - From a checkpoint's folder to a module ------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_IMPORTER_H
#define MTP_COMPILER_IMPORT_IMPORTER_H

#include "compiler/Import/plan/ImportOptions.h"
#include "runtime/core/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace mtp::importer {

/// Imports the checkpoint in `folder` and verifies the module together with its
/// imports from the drafter library. Loads the needed dialects into `context`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &folder,
            const ImportOptions &options = {});

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_IMPORTER_H
