//===- ForeignConfig.h - What is not imported -------------------*- C++ -*-===//
//
// Private to the importer: recognises configs and checkpoints that look like a
// model's and are not, and says what an unknown family is nearest to.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_FOREIGNCONFIG_H
#define MTP_COMPILER_IMPORT_FOREIGNCONFIG_H

#include "compiler/Import/ConfigFields.h"
#include "compiler/Import/ModelConfig.h"
#include "compiler/Import/WeightTable.h"

#include <functional>
#include <string>
#include <string_view>

namespace mtp::importer {

/// Fails if the config is that of a drafter in a file of its own. Most name
/// the `model_type` of a plain model, of which they are one layer.
void refuseDrafter(ConfigFields &fields);

/// The same for a checkpoint, whose config may say nothing: EAGLE's first
/// drafters have that of a llama of one layer.
Status refuseDrafterWeights(const WeightTable &weights,
                            const ModelConfig &config);

/// Whether there is a weight that drafters have and models do not.
bool hasDrafterWeights(const std::function<bool(const std::string &)> &has);

/// Fails at a key that changes a model's results and that no imported family
/// has, unless its value asks for nothing. Their classes in transformers do not
/// look at it; the code that the checkpoint was made with may.
void refuseForeignKeys(ConfigFields &fields);

/// The family that an unknown one is nearest to by its config's keys, and what
/// the config asks for beyond that family: "nearest is "qwen3", but for ...".
std::string describeNearest(ConfigFields &fields, std::string_view name);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_FOREIGNCONFIG_H
