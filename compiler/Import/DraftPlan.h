//===- DraftPlan.h - What drafts, and how much ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_DRAFTPLAN_H
#define MTP_COMPILER_IMPORT_DRAFTPLAN_H

#include "compiler/Import/Importer.h"
#include "compiler/Import/ModelEmitter.h"

namespace mtp::importer {

/// Settles what the flags leave open, and refuses what the model or the drafter
/// in a folder, which may be null, does not go with, naming the flag. `folder`
/// must outlive the plan.
Result<DraftPlan> planDrafts(const ModelConfig &config,
                             const DrafterFolder *folder,
                             const ImportOptions &options);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTPLAN_H
