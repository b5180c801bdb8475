//===- RuleReader.h - Rules that the library declares -----------*- C++ -*-===//
//
// A function of the library's rules.mlir declares the rules of --accept that it
// computes in its attribute mtp.accept_rules (library/RULES.md).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_RULEREADER_H
#define MTP_COMPILER_IMPORT_PLAN_RULEREADER_H

#include "compiler/Import/plan/AcceptSpec.h"

#include "mlir/IR/MLIRContext.h"

namespace mtp::importer {

/// Loads the dialects of imported modules and of the library.
void loadImportDialects(mlir::MLIRContext &context);

/// Reads the declared rules, in the order of the file: from rules.mlir in
/// `libraryFolder`, if the file exists, else from the library in the tools.
Result<std::vector<AcceptRule>> readRules(mlir::MLIRContext &context,
                                          const std::string &libraryFolder);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_RULEREADER_H
