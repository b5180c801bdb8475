//===- Checkpoint.cpp - Keys and modules of a checkpoint ------------------===//

#include "compiler/Import/checkpoint/Checkpoint.h"

#include "compiler/Import/config/ForeignConfig.h"

#include <algorithm>

namespace mtp::importer {

namespace {

constexpr std::string_view kBasePrefix = "model.";

/// Keys of a module's own embedding and head, after the module's prefix.
constexpr std::string_view kEmbeddings[] = {"embed_tokens.weight"};
constexpr std::string_view kHeads[] = {"shared_head.head.weight",
                                       "lm_head.weight", "head.weight"};

/// Possible prefixes of the keys of Qwen's modules.
constexpr std::string_view kQwenRoots[] = {
    "mtp.", "model.mtp.", "language_model.mtp.", "model.language_model.mtp."};

std::string normKey(const KeyLayout &layout) {
  return layout.trunk + "norm.weight";
}

/// Returns true if the checkpoint is a whole model in a layout without a
/// prefix. Layers of most drafters have such keys, too.
bool isBaseModel(const ModelConfig &config, const KeyLayout &layout,
                 const HasKey &has) {
  std::string norm =
      layout.trunk + "layers.0." + config.named("input_layernorm.weight");
  return has(normKey(layout)) && has(norm) && !hasDrafterWeights(has);
}

std::vector<KeyLayout> baseLayouts(const ModelConfig &config,
                                   const HasKey &has) {
  std::vector<KeyLayout> layouts;
  for (const KeyLayout &layout : config.layouts) {
    if (!layout.trunk.starts_with(kBasePrefix))
      continue;
    KeyLayout base = layout;
    base.trunk.erase(0, kBasePrefix.size());
    if (isBaseModel(config, base, has))
      layouts.push_back(std::move(base));
  }
  return layouts;
}

/// Returns the number of consecutive modules in the weights, from the first.
int64_t countModules(const ModelConfig &config, const WeightTable &weights) {
  int64_t count = 0;
  while (count < config.drafter.modules &&
         weights.contains(moduleMark(config, count)))
    ++count;
  return count;
}

/// Finds the prefix of the keys of Qwen's modules.
void settleRoot(ModelConfig &config, const WeightTable &weights) {
  if (config.drafter.style != DrafterStyle::Qwen)
    return;
  for (std::string_view root : kQwenRoots) {
    config.drafter.root = root;
    if (weights.contains(moduleMark(config, 0)))
      return;
  }
  config.drafter.root = kQwenRoots[0];
}

/// Returns the key, after the prefix, of a module's own matrix among `names`.
/// Empty if it equals the model's matrix or does not exist.
Result<std::string> findOwn(const WeightTable &weights,
                            const std::string &prefix,
                            std::span<const std::string_view> names,
                            const std::string &shared) {
  for (std::string_view name : names) {
    std::string key = prefix + std::string(name);
    if (!weights.contains(key))
      continue;
    MTP_ASSIGN_OR_RETURN(bool isCopy, weights.areEqual(key, shared));
    return isCopy ? std::string() : std::string(name);
  }
  return std::string();
}

} // namespace

void settleLayout(ModelConfig &config, const HasKey &has) {
  std::vector<KeyLayout> layouts = config.layouts;
  std::ranges::copy(baseLayouts(config, has), std::back_inserter(layouts));
  auto take = [&](auto isThere) {
    auto found = std::ranges::find_if(layouts, isThere);
    if (found == layouts.end())
      return false;
    config.layouts = {KeyLayout(*found)};
    return true;
  };
  // The head has equal keys in many layouts, so it is tried last.
  take([&](const KeyLayout &layout) { return has(layout.embedding()); }) ||
      take([&](const KeyLayout &layout) { return has(normKey(layout)); }) ||
      take([&](const KeyLayout &layout) { return has(layout.head); });
}

Status findModules(const std::string &folder, ModelConfig &config,
                   WeightTable &weights) {
  DrafterConfig &drafter = config.drafter;
  if (drafter.style == DrafterStyle::None)
    return okStatus();
  int64_t wanted = drafter.isUnsaid ? 1 : drafter.modules;
  settleRoot(config, weights);
  auto isMissing = [&](int64_t d) {
    return !weights.contains(moduleMark(config, d));
  };
  std::vector<std::string> marks;
  for (int64_t d = 0; d < wanted; ++d)
    if (isMissing(d))
      marks.push_back(modulePrefix(config, d));
  if (drafter.style == DrafterStyle::Qwen && !marks.empty())
    marks.assign(std::begin(kQwenRoots), std::end(kQwenRoots));
  if (!marks.empty()) {
    MTP_RETURN_IF_ERROR(weights.openBeside(folder, [&](std::string_view key) {
      return std::ranges::any_of(marks, [&](const std::string &mark) {
        return key.starts_with(mark);
      });
    }));
    settleRoot(config, weights);
  }
  if (drafter.isUnsaid && !isMissing(0))
    drafter.modules = 1;
  return okStatus();
}

Status checkModules(const ModelConfig &config, const WeightTable &weights,
                    int64_t modules) {
  int64_t found = countModules(config, weights);
  if (found >= modules)
    return okStatus();
  // If the module exists in part, the error names the missing key.
  if (weights.containsUnder(modulePrefix(config, found)))
    return okStatus();
  const DrafterConfig &drafter = config.drafter;
  std::string announced = std::to_string(drafter.modules);
  std::string text = "expected " + announced + " MTP module" +
                     (drafter.modules == 1 ? "" : "s") + ", as \"" +
                     std::string(drafter.key) + "\": " + announced + " in " +
                     config.file + " says, but the weights contain ";
  text += found == 0 ? "no module" : std::to_string(found) + " of them";
  text += " (no \"" + moduleMark(config, found) + "\"); import with ";
  if (found > 0)
    text += "-k " + std::to_string(found) + " to draft with these, or with ";
  return notFound(text +
                  "-k 0 for a model without drafts, or put the file that "
                  "has the module beside the others");
}

Status findOwnTables(ModelConfig &config, const WeightTable &weights,
                     int64_t modules, const std::string &embedding,
                     const std::string &head) {
  DrafterConfig &drafter = config.drafter;
  drafter.own.assign(size_t(std::max<int64_t>(modules, 0)), {});
  for (int64_t d = 0; d < modules; ++d) {
    std::string prefix = modulePrefix(config, d);
    OwnTables &own = drafter.own[size_t(d)];
    MTP_ASSIGN_OR_RETURN(own.embedding,
                         findOwn(weights, prefix, kEmbeddings, embedding));
    MTP_ASSIGN_OR_RETURN(own.head, findOwn(weights, prefix, kHeads, head));
    if (drafter.ownsEmbedding && weights.isOpen() && own.embedding.empty() &&
        !weights.contains(prefix + std::string(kEmbeddings[0])))
      return notFound("config key \"mtp_use_dedicated_embeddings\": expected "
                      "false, or the weight \"" +
                      prefix + std::string(kEmbeddings[0]) + "\"");
  }
  return okStatus();
}

bool isTable(std::string_view key) {
  auto isNamed = [&](std::string_view name) {
    return key.ends_with(name) && key.size() > name.size() &&
           key[key.size() - name.size() - 1] == '.';
  };
  return std::ranges::any_of(kEmbeddings, isNamed) ||
         std::ranges::any_of(kHeads, isNamed);
}

} // namespace mtp::importer
