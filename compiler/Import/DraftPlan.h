//===- DraftPlan.h - The plan of a model's drafts ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_DRAFTPLAN_H
#define MTP_COMPILER_IMPORT_DRAFTPLAN_H

#include "compiler/Import/Importer.h"
#include "compiler/Import/ModelEmitter.h"

namespace mtp::importer {

/// Chooses values for the options that the flags leave open. Fails with the
/// name of the flag if an option does not fit the model or the drafter.
/// `folder` is the drafter's folder; it may be null and must outlive the plan.
Result<DraftPlan> planDrafts(const ModelConfig &config,
                             const DrafterFolder *folder,
                             const ImportOptions &options);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTPLAN_H
