//===- Passes.td - All passes ------------------------------*- tablegen -*-===//

#ifndef MTP_PASSES
#define MTP_PASSES

include "passes/LoweringPasses.td"
include "passes/ModelPasses.td"
include "passes/RoundPasses.td"

#endif // MTP_PASSES
