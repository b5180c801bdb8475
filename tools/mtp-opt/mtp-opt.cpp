//===- mtp-opt.cpp - Run passes on a module -------------------------------===//
//
// Registers our dialects and passes and the few upstream dialects that they
// use; all else is MlirOptMain.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/MTP/IR/MTPDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::exec::ExecDialect, mlir::func::FuncDialect,
                  mlir::mtp::MTPDialect>();
  mlir::mtp::registerMTPPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerSymbolDCEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "multi-token prediction optimizer\n", registry));
}
