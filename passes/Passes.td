//===- Passes.td - All passes ------------------------------*- tablegen -*-===//

#ifndef MTP_PASSES
#define MTP_PASSES

include "passes/control/ControlPasses.td"
include "passes/exec/ExecPasses.td"
include "passes/lower/LowerPasses.td"
include "passes/model/ModelPasses.td"
include "passes/round/RoundPasses.td"

#endif // MTP_PASSES
