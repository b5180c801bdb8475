//===- ReadCheckpoint.cpp - Read a model and its drafter ------------------===//

#include "compiler/Import/ReadCheckpoint.h"

#include "compiler/Import/checkpoint/Checkpoint.h"
#include "compiler/Import/config/ConfigReader.h"
#include "compiler/Import/config/ForeignConfig.h"
#include "compiler/Import/config/GgufConfig.h"
#include "compiler/Import/config/MetaConfig.h"
#include "compiler/Import/emitters/ModelEmitter.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/PathKind.h"

#include <filesystem>

namespace mtp::importer {

namespace fs = std::filesystem;

void warn(const ImportOptions &options, const std::string &text) {
  if (options.onWarning)
    options.onWarning(text);
}

namespace {

/// Counts the layers and heads of Meta's checkpoints in the file.
void countMetaLayers(ModelConfig &config, const WeightTable &weights) {
  if (config.keys().table == KeyLayout().table)
    return;
  std::string mark = config.named("input_layernorm.weight");
  int64_t count = 0;
  while (weights.contains(layerPrefix(config, count) + mark))
    ++count;
  if (count > 0)
    config.layers.resize(size_t(count));
  if (weights.contains(std::string(kHeadMark)))
    config.hasHeads = true;
}

/// Finds out from the checkpoint whether experts are stacked, for layers and
/// for modules.
void findStackedExperts(ModelConfig &config, const WeightTable &weights) {
  auto settle = [&](LayerKind &kind, const std::string &prefix) {
    kind.isStacked =
        kind.isMoe && config.moe->mayBeStacked &&
        weights.contains(prefix + std::string(config.moe->keys.stackedGateUp));
  };
  for (size_t i = 0; i < config.layers.size(); ++i)
    settle(config.layers[i], layerPrefix(config, int64_t(i)));
  settle(config.drafterLayer, moduleLayerPrefix(config, 0));
}

/// Uses the target's matrices instead of equal copies in the folder.
Status dropCopies(DrafterFolder &folder, const SharedKeys &keys,
                  const WeightTable &weights) {
  bool isEagle = folder.method == FolderMethod::Eagle ||
                 folder.method == FolderMethod::Eagle3 ||
                 folder.method == FolderMethod::PEagle;
  auto drop = [&](std::string &own, const std::string &other) -> Status {
    if (own.empty())
      return okStatus();
    MTP_ASSIGN_OR_RETURN(bool isCopy,
                         weights.areEqual(kDrafterRoot.str() + own, other));
    if (isCopy)
      own.clear();
    return okStatus();
  };
  if (isEagle || folder.isBlock())
    MTP_RETURN_IF_ERROR(drop(folder.embedding, keys.embedding));
  if (folder.isBlock())
    MTP_RETURN_IF_ERROR(drop(folder.head, keys.head));
  return okStatus();
}

/// Warns if the drafter has a tokenizer that differs from the target's.
void compareTokenizers(const std::string &drafter, const std::string &target,
                       const ImportOptions &options) {
  constexpr size_t kMostBytes = 64 << 20;
  auto read = [&](const std::string &folder) {
    return readTextFile((fs::path(folder) / "tokenizer.json").string(),
                        kMostBytes);
  };
  Result<std::string> own = read(drafter), other = read(target);
  if (own && other && *own != *other)
    warn(options, "the tokenizer in \"" + drafter +
                      "\" is written otherwise than the target's; a drafter "
                      "of another vocabulary drafts nothing of use");
}

/// Returns the file that --drafter names, if it may contain MTP modules, or the
/// only such file in the model's folder.
std::string findModuleFile(const std::string &folder, const ModelConfig &config,
                           const ImportOptions &options) {
  if (options.drafter.kind == DrafterKind::Folder)
    return isGgufPath(options.drafter.folder) && !options.method
               ? options.drafter.folder
               : std::string();
  if (options.drafter.kind != DrafterKind::Modules ||
      config.drafter.modules > 0)
    return {};
  std::vector<std::string> files = findModuleFiles(folder);
  return files.size() == 1 ? files.front() : std::string();
}

/// Fails unless a file's modules belong to a model of the target's sizes.
Status checkModuleConfig(const ModelConfig &own, const ModelConfig &target) {
  auto describe = [](const ModelConfig &config) {
    std::string text =
        "modules of a model with " + std::to_string(config.layers.size()) +
        " layers, a hidden size of " + std::to_string(config.hidden) + ", " +
        (config.mla ? "latent" : "grouped") + " attention";
    if (config.drafter.style == DrafterStyle::Qwen)
      text += ", Qwen's wiring";
    return config.normOffset == 0 ? text
                                  : text + ", and norms that add 1 to weights";
  };
  std::string wanted = describe(target), got = describe(own);
  if (wanted == got)
    return okStatus();
  return invalidArgument("expected " + wanted + ", got " + got);
}

/// Takes the MTP modules of a file of their own, if there is one.
Status readModuleFile(const std::string &folder, ModelConfig &config,
                      ImportOptions &options, WeightTable &weights) {
  std::string path = findModuleFile(folder, config, options);
  if (path.empty())
    return okStatus();
  auto read = [&]() -> Status {
    MTP_ASSIGN_OR_RETURN(GgufModel model, GgufModel::open(path));
    MTP_ASSIGN_OR_RETURN(GgufContent content, describeGguf(model.parts));
    if (content.isDrafter || content.stored == 0)
      return okStatus();
    MTP_ASSIGN_OR_RETURN(ModelConfig own, readGgufConfig(model));
    MTP_RETURN_IF_ERROR(checkModuleConfig(own, config));
    DrafterConfig &drafter = config.drafter;
    drafter.modules = content.stored;
    drafter.isUnsaid = false;
    drafter.missing = 0;
    drafter.front = kDrafterRoot.str();
    drafter.file = path;
    options.drafter = {};
    return options.hasWeights ? weights.addDrafter(model.paths, drafter.front)
                              : okStatus();
  };
  return read().withContext("--drafter \"" + path + "\"");
}

} // namespace

Result<SharedKeys> consultWeights(ModelConfig &config,
                                  const WeightTable &weights,
                                  const ImportOptions &options) {
  if (options.hasWeights)
    findStackedExperts(config, weights);
  SharedKeys keys = {config.keys().embedding(), config.keys().head};
  if (!config.isTied)
    return keys;
  SharedKeys tied = {keys.embedding, keys.embedding};
  if (!weights.contains(keys.head))
    return tied;
  // Tying is symmetric: a single stored matrix serves as both.
  if (!weights.contains(keys.embedding))
    return SharedKeys{keys.head, keys.head};
  MTP_ASSIGN_OR_RETURN(bool areEqual,
                       weights.areEqual(keys.embedding, keys.head));
  if (areEqual)
    return tied;
  warn(options, "config.json says \"tie_word_embeddings\", but \"" + keys.head +
                    "\" is stored with other values than \"" + keys.embedding +
                    "\"; the two are not tied, as in transformers");
  config.isTied = false;
  return keys;
}

Result<std::optional<DrafterFolder>> readFolder(const std::string &target,
                                                const ModelConfig &config,
                                                const ImportOptions &options,
                                                WeightTable &weights,
                                                const SharedKeys &keys) {
  if (options.drafter.kind != DrafterKind::Folder)
    return std::optional<DrafterFolder>();
  MTP_ASSIGN_OR_RETURN(DrafterFolder folder,
                       readDrafterFolder(options.drafter.folder, config,
                                         options.method, options.hasWeights));
  std::error_code error;
  folder.isInline = fs::equivalent(folder.path, target, error);
  if (options.hasWeights) {
    MTP_RETURN_IF_ERROR(weights.addDrafter(folder.files, kDrafterRoot.str()));
    MTP_RETURN_IF_ERROR(dropCopies(folder, keys, weights));
    compareTokenizers(folder.path, target, options);
  }
  if (options.onNote) {
    std::string text = "\"" + folder.path + "\" is a drafter of the method " +
                       std::string(toString(folder.method)) + " in " +
                       folder.format;
    if (options.hasWeights)
      text += ", with weights in " + weights.typesUnder(kDrafterRoot.str());
    text +=
        options.maxK.value_or(1) > 0 ? ", which drafts" : ", which is not used";
    options.onNote(text);
    for (const std::string &note : folder.notes)
      options.onNote(note);
  }
  return std::optional(std::move(folder));
}

Result<ModelConfig> readModel(const std::string &folder, ImportOptions &options,
                              std::optional<WeightTable> &weights) {
  MTP_RETURN_IF_ERROR(checkPath(
      folder, options.hasWeights ? PathUse::Import : PathUse::ImportConfig));
  Result<ModelConfig> config = readModelConfig(folder);
  if (!config)
    return config.status().withContext("\"" + folder + "\"");
  for (const std::string &text : config->generation.warnings)
    warn(options, text);
  weights.emplace(config->storedType, options.matrixType);
  if (options.hasWeights)
    MTP_RETURN_IF_ERROR(weights->open(folder));
  settleLayout(*config,
               [&](const std::string &key) { return weights->contains(key); });
  countMetaLayers(*config, *weights);
  // A model that was trained with heads drafts with them.
  if (config->hasHeads && options.drafter.kind == DrafterKind::Modules &&
      options.maxK.value_or(1) > 0)
    options.drafter = {DrafterKind::Folder, {}, {}, folder};
  MTP_RETURN_IF_ERROR(refuseDrafterWeights(*weights, *config));
  if (!options.hasWeights && config->layers.size() == 1)
    warn(options, "config.json describes a model of one layer; that of an "
                  "EAGLE drafter reads the same, and without weights nothing "
                  "tells them apart");
  MTP_RETURN_IF_ERROR(readModuleFile(folder, *config, options, *weights));
  MTP_RETURN_IF_ERROR(findModules(folder, *config, *weights));
  return config;
}

} // namespace mtp::importer
