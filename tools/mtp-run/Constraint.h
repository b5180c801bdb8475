//===- Constraint.h - The grammar of a run ----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CONSTRAINT_H
#define MTP_TOOLS_MTP_RUN_CONSTRAINT_H

#include "mtp/tokenizer.h"
#include "tools/mtp-run/Options.h"

namespace mtp {

/// Returns the constraint of --grammar or --json-schema; null without either.
/// `tokenizer` is the model's; null if the model has none.
Result<std::shared_ptr<const TokenConstraint>>
readConstraint(const RunOptions &options, const Model &model,
               const Tokenizer *tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CONSTRAINT_H
