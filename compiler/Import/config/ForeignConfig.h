//===- ForeignConfig.h - Refusal of unsupported configs ---------*- C++ -*-===//
//
// Private to the importer. Recognises configs and checkpoints that look like a
// model and are not, and finds the imported family nearest to an unknown one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_FOREIGNCONFIG_H
#define MTP_COMPILER_IMPORT_CONFIG_FOREIGNCONFIG_H

#include "compiler/Import/config/ConfigFields.h"
#include "compiler/Import/config/ModelConfig.h"
#include "compiler/Import/config/WeightTable.h"

#include <functional>
#include <string>
#include <string_view>

namespace mtp::importer {

/// Fails if the config belongs to a drafter in a file of its own. Most such
/// configs have the `model_type` of a plain model with one layer.
void refuseDrafter(ConfigFields &fields);

/// Fails if the checkpoint is a drafter. Its config may not show it: EAGLE-1's
/// drafters have the config of a llama with one layer.
Status refuseDrafterWeights(const WeightTable &weights,
                            const ModelConfig &config);

/// Returns true if there is a weight that only drafters have.
bool hasDrafterWeights(const std::function<bool(const std::string &)> &has);

/// Fails at a key that changes a model's results and that no imported family
/// has, unless its value changes nothing. The family's class in transformers
/// ignores the key, but the code that made the checkpoint may read it. The
/// family reads `ownKey`, if it is not empty.
void refuseForeignKeys(ConfigFields &fields, std::string_view ownKey = {});

/// Returns the imported family nearest to an unknown one by its config's keys,
/// and the features that this family lacks: "nearest is "qwen3", but for ...".
std::string describeNearest(ConfigFields &fields, std::string_view name);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_FOREIGNCONFIG_H
