//===- Tune.h - Tune the GPU library on this machine ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_TUNE_H
#define MTP_TOOLS_MTPC_TUNE_H

#include "compiler/Target/Target.h"

namespace mtp::compiler {

/// Returns the fastest algorithm for each product, see
/// runtime/device/cuda/TuneGemms.h.
Result<std::vector<LibraryAlgorithm>>
tuneOnThisMachine(llvm::ArrayRef<LibraryGemm> gemms);

} // namespace mtp::compiler

#endif // MTP_TOOLS_MTPC_TUNE_H
