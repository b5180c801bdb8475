//===- QuantizeWeights.h - Formats that the caller chooses ------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_QUANTIZEWEIGHTS_H
#define MTP_PASSES_EXEC_QUANTIZEWEIGHTS_H

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "runtime/schema/WeightFormat.h"
#include <vector>

namespace mlir::mtp {

/// The quantiser's format of 6 bits, for heads.
inline constexpr ::mtp::WeightFormat kSixBits{
    ::mtp::WeightElements::Int6, 64, ::mtp::WeightScales::F16x8, false};

/// The quantiser's format of 8 bits if no group is given, GGUF's Q8_0.
inline constexpr ::mtp::WeightFormat kEightBits{
    ::mtp::WeightElements::Int8, 32, ::mtp::WeightScales::F16, false};

/// A weight of a projection that becomes integers.
struct WeightToQuantize {
  exec::WeightOp weight;
  bool isHead;
};

/// Returns the format of each weight, or reports an error.
using ChooseFormatsFn =
    std::function<FailureOr<std::vector<::mtp::WeightFormat>>(
        ArrayRef<WeightToQuantize>)>;

/// Creates exec-quantize-weights. `keptFormat`, if not null, gives weights
/// without a requested format the format that keeps them. `chooseFormats`, if
/// not null, replaces `format`, and `head-format` if it is absent.
std::unique_ptr<Pass>
createQuantizeWeightsPass(const QuantizeWeightsPassOptions &options,
                          KeptFormatFn keptFormat,
                          ChooseFormatsFn chooseFormats);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_QUANTIZEWEIGHTS_H
