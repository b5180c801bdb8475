//===- Importer.cpp - From a checkpoint's folder to a module --------------===//

#include "compiler/Import/Importer.h"

#include "compiler/Driver/Imports.h"
#include "compiler/Import/ReadCheckpoint.h"
#include "compiler/Import/checkpoint/Checkpoint.h"
#include "compiler/Import/checkpoint/UnusedWeights.h"
#include "compiler/Import/config/MetaConfig.h"
#include "compiler/Import/emitters/ModelEmitter.h"
#include "compiler/Import/plan/DraftPlan.h"
#include "compiler/Import/plan/ProfilePlan.h"
#include "compiler/Import/plan/RuleReader.h"
#include "compiler/Tokenizer/ChatFiles.h"
#include "compiler/Tokenizer/TokenizerFiles.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/schema/LogitRules.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <filesystem>

namespace mtp::importer {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr const char *kIdsOnly = "the model will take and give token ids only";

Result<int64_t> planContext(const ModelConfig &config,
                            const ImportOptions &options) {
  // Authors advise to add "rope_scaling" without changing the limit.
  int64_t scaled = 0;
  for (const LayerConfig &layer : config.layers)
    if (layer.mixer.attention)
      scaled = std::max(scaled, layer.mixer.attention->rope.scaledPositions);
  int64_t trained = std::max(config.maxPositions, scaled);
  int64_t most = trained;
  if (config.plainPositions > 0)
    most = std::min(most, config.plainPositions);
  if (!options.maxContext)
    return std::min(kDefaultContext, most);
  if (*options.maxContext > trained) {
    std::string limit = scaled > config.maxPositions
                            ? "\"original_max_position_embeddings\" times the "
                              "\"factor\" of its rotary scaling,"
                            : std::string(config.positionsKey);
    return outOfRange("--max-context: expected at most the config's " + limit +
                      " " + std::to_string(trained) + ", got " +
                      std::to_string(*options.maxContext));
  }
  if (*options.maxContext > most)
    return unimplemented("--max-context: expected at most " +
                         std::to_string(most) +
                         ", beyond which \"llama_4_scaling_beta\" scales "
                         "queries by their position, got " +
                         std::to_string(*options.maxContext));
  return *options.maxContext;
}

/// Returns a path as the module names it: relative to its folder, without "..".
Result<std::string> relativePath(const std::string &path,
                                 const ImportOptions &options) {
  std::error_code error;
  fs::path base = fs::absolute(options.outputFolder, error);
  fs::path target = error ? fs::path() : fs::absolute(path, error);
  if (error)
    return internalError("cannot find the current folder: " + error.message());
  // A trailing slash leaves an empty last part, which would count as a step.
  auto clean = [](const fs::path &p) { return (p / "").lexically_normal(); };
  fs::path relative = clean(target).lexically_relative(clean(base));
  if (relative.empty() || *relative.begin() == "..")
    return invalidArgument("expected weights in the output's folder \"" +
                           options.outputFolder + "\" or below, got \"" + path +
                           "\"");
  std::string text = relative.generic_string();
  while (text.size() > 1 && text.back() == '/')
    text.pop_back();
  return text;
}

/// Drops the recommended penalty of a model without logit rules.
void dropPenalty(const DraftPlan &draft, const ImportOptions &options,
                 ModelConfig &config) {
  std::optional<double> &penalty = config.generation.repetitionPenalty;
  if (draft.changesLogits || !penalty)
    return;
  warn(options,
       "the recommended \"repetition_penalty\": " + shortest(*penalty) +
           " is not applied, as the model has no logit rules");
  penalty.reset();
}

mlir::DictionaryAttr generationAttr(mlir::OpBuilder &builder,
                                    const GenerationConfig &generation) {
  mlir::NamedAttrList fields;
  if (generation.bos)
    fields.append("bos", builder.getI32IntegerAttr(*generation.bos));
  fields.append("eos", builder.getDenseI32ArrayAttr(generation.eos));
  auto number = [&](const char *key, std::optional<double> value) {
    if (value)
      fields.append(key, builder.getF32FloatAttr(float(*value)));
  };
  number("temperature", generation.temperature);
  number("top_p", generation.topP);
  number("min_p", generation.minP);
  number("repetition_penalty", generation.repetitionPenalty);
  if (generation.topK)
    fields.append("top_k", builder.getI64IntegerAttr(*generation.topK));
  return fields.getDictionary(builder.getContext());
}

/// Returns the width of a cache's entries. One cache serves all layers.
int64_t entryWidth(ModelContext &context, const ModelConfig &config) {
  int64_t width = config.attention()->entryWidth();
  for (const LayerConfig &layer : config.layers)
    if (layer.mixer.attention && layer.mixer.attention->entryWidth() != width)
      context.fail(unimplemented("expected layers whose keys and values have "
                                 "one width, got " +
                                 std::to_string(width) + " and others"));
  return width;
}

mlir::Type cacheElement(mlir::OpBuilder &builder, KvType type) {
  switch (type) {
  case KvType::F32:
    return builder.getF32Type();
  case KvType::BF16:
    return builder.getBF16Type();
  case KvType::I8:
    return builder.getI8Type();
  }
  llvm_unreachable("expected a type of caches");
}

/// Emits the caches and the recurrent states, which are f32 in every model.
void emitCaches(ModelContext &context, const ImportOptions &options) {
  mlir::OpBuilder &builder = context.builder;
  const ModelConfig &config = context.config;
  KvType byDefault = context.weights.isF32(context.keys.embedding)
                         ? KvType::F32
                         : KvType::BF16;
  mlir::Type element =
      cacheElement(builder, options.kvType.value_or(byDefault));
  auto emit = [&](llvm::StringRef name, int64_t layers, const ModelConfig &of) {
    mlir::mtp::CacheOp::create(builder, builder.getUnknownLoc(), name, layers,
                               entryWidth(context, of), element);
  };
  int64_t recurrent =
      std::ranges::count_if(config.layers, &LayerConfig::isRecurrent);
  emit(kTargetCache, int64_t(config.layers.size()) - recurrent, config);
  if (recurrent > 0) {
    const RecurrenceConfig &of = *config.recurrence();
    mlir::mtp::RecurrenceOp::create(builder, builder.getUnknownLoc(),
                                    kTargetMemory, recurrent, of.heads, of.keys,
                                    of.values, of.keyHeads, of.window);
  }
  if (context.draft.modules > 0)
    emit(kDrafterCache, context.draft.modules, config);
  if (const DrafterFolder *folder = context.draft.folder)
    if (!folder->layerPrefixes.empty())
      // Heads beyond k do not run.
      emit(kDrafterCache,
           folder->heads() > 0 ? context.draft.maxK
                               : int64_t(folder->layerPrefixes.size()),
           folder->layers);
}

/// Declares the states by which requests change logits.
void emitLogitRules(ModelContext &context) {
  if (!context.draft.changesLogits)
    return;
  mlir::OpBuilder &builder = context.builder;
  auto declare = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> sizes) {
    llvm::SmallVector<mlir::Attribute> extents;
    for (int64_t size : sizes)
      extents.push_back(mlir::mtp::ExtentAttr::get(
          builder.getContext(), mlir::mtp::ExtentUnit::Fixed, size));
    mlir::mtp::StateOp::create(builder, builder.getUnknownLoc(),
                               /*shared=*/false, name,
                               builder.getArrayAttr(extents),
                               builder.getI32Type(), mlir::TypedAttr(),
                               mlir::mtp::Rebuild::Rows, /*rebuild_rows=*/1);
  };
  declare(kLogitRules, kRuleWords);
  auto vocab = uint64_t(context.config.vocab);
  declare(kTokenCounts, int64_t(countWords(vocab)));
  declare(kLogitBias, context.config.vocab);
  const DraftPlan &draft = context.draft;
  int64_t nodes = draft.maxNodes > 0 ? draft.maxNodes : draft.maxK + 1;
  declare(kLogitMasks,
          {std::min(nodes, kMostMasks), int64_t(maskWords(vocab))});
}

/// Emits each function before its users, so that the module reads from top to
/// bottom.
void emitFunctions(ModelContext &context) {
  emitModelFunctions(context);
  if (context.draft.modules > 0)
    emitModules(context);
  if (context.draft.folder)
    emitFolderFunctions(context);
}

/// Fails with the name of the flag whose size the dialect refuses; the dialect
/// gives the reason. Each size is checked together with valid other sizes.
Status checkSizes(mlir::ModuleOp module, int64_t maxK, int64_t maxContext,
                  const ImportOptions &options) {
  auto emitError = [&] { return module.emitError(); };
  auto isValid = [&](int64_t k, int64_t batch, int64_t context, int64_t chunk,
                     int64_t page, int64_t promptRows = 0, int64_t rows = 0,
                     int64_t catchUpRows = 0) {
    return succeeded(mlir::mtp::EnvelopeAttr::verify(
        emitError, k, batch, context, chunk, page, /*max_nodes=*/0, promptRows,
        rows, catchUpRows));
  };
  if (!isValid(maxK, 1, 2, 1, 1))
    return invalidArgument("-k");
  if (!isValid(0, options.maxBatch, 2, 1, 1))
    return invalidArgument("--max-batch");
  if (!isValid(0, 1, maxContext, 1, 1))
    return invalidArgument("--max-context");
  if (!isValid(0, 1, 2, options.prefillChunk, 1))
    return invalidArgument("--prefill-chunk");
  if (!isValid(0, 1, 2, 1, options.page))
    return invalidArgument("--page");
  if (!isValid(0, 1, 2, options.prefillChunk, 1, options.roundPromptRows))
    return invalidArgument("--max-mixed-prefill-tokens");
  if (!isValid(0, options.maxBatch, 2, 1, 1, 0, options.maxRows))
    return invalidArgument("--max-verify-tokens");
  if (!isValid(0, 1, 2, 1, 1, 0, 0, options.catchUpRows.value_or(0)))
    return invalidArgument("--catch-up-rows");
  return okStatus();
}

/// Returns the name of a folder's unsupported tokenizer file, for a message.
std::string otherTokenizer(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"tekken.json", "spiece.model", "qwen.tiktoken",
                           "vocab.json", "vocab.txt"})
    if (fs::exists(fs::path(folder) / name, error))
      return name;
  return "none";
}

/// Warns if a chat template cannot be used. mtpc reads it from the tokenizer's
/// folder, and the model works without it.
void checkChatTemplate(const std::string &folder,
                       const ImportOptions &options) {
  Result<ChatSource> source = readChatFiles(folder);
  if (!source) {
    warn(options, "no chat template that can be read in \"" + folder +
                      "\": " + std::string(source.status().message()));
    return;
  }
  if (source->templates.empty())
    return;
  Status status = ChatTemplate::parse(*source).status();
  if (!status.isOk())
    warn(options,
         "a chat template in \"" + folder +
             "\" that cannot be used: " + std::string(status.message()) +
             "; chats need another one (--chat-template)");
}

/// Names the checkpoint's folder as the tokenizer's, if it has a supported
/// tokenizer. mtpc reads the file later; here it is only checked. The pair
/// vocab.json and merges.txt is not enough, because it lacks a family's pattern
/// and special tokens.
Status emitTokenizer(ModelContext &context, mlir::ModuleOp module,
                     const std::string &folder, const ImportOptions &options) {
  std::vector<std::string> files = findTokenizerFiles(folder);
  if (files.size() != 1) {
    warn(options, "no tokenizer that can be read in \"" + folder +
                      "\": expected tokenizer.json, tokenizer.model or "
                      "tiktoken.model, got " +
                      otherTokenizer(folder) + "; " + kIdsOnly);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(InputFile::open(files.front()).status());
  // Each format has unsupported variants. mtpc would report them late.
  Result<std::string> tables = buildTokenizerTables(folder);
  if (!tables) {
    warn(options, "no tokenizer that can be read in \"" + folder +
                      "\": " + tables.status().toString() + "; " + kIdsOnly);
    return okStatus();
  }
  MTP_ASSIGN_OR_RETURN(std::string relative, relativePath(folder, options));
  module->setAttr(mlir::mtp::kTokenizerAttr,
                  context.builder.getStringAttr(relative));
  checkChatTemplate(folder, options);
  return okStatus();
}

std::string describeConfidence(const DraftPlan &draft) {
  if (!draft.confidence)
    return "";
  return ":confidence:" + shortest(*draft.confidence);
}

/// Returns the description of the module's drafting, for the user.
std::string methodOf(const ModelContext &context,
                     const ImportOptions &options) {
  const DraftPlan &draft = context.draft;
  std::string name = draft.folder ? std::string(toString(draft.folder->method))
                                  : methodName(draft.drafter);
  if (draft.folder || draft.tree.kind != DraftTreeKind::Chain)
    name += ":" + describeTree(draft.tree);
  name += describeConfidence(draft);
  if (draft.before)
    name = lookupName(*draft.before) + " before " + name;
  bool reuses = draft.modules > 0 && options.depthPolicy == DepthPolicy::Reuse;
  return reuses ? name + ":reuse" : name;
}

/// Verifies the module together with its imports from the drafter library.
Status verifyModule(mlir::ModuleOp module, const ImportOptions &options) {
  Status invalid = internalError("the imported module is not valid");
  if (module.getOps<mlir::mtp::ImportOp>().empty())
    return succeeded(mlir::verify(module)) ? okStatus() : invalid;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().assumeVerified());
  llvm::SourceMgr sources;
  auto whole = compiler::parseWithImports(
      *module.getContext(), sources,
      llvm::MemoryBuffer::getMemBufferCopy(text, "the imported module"),
      "the imported module", options.libraryFolder);
  return whole ? okStatus() : invalid;
}

/// Sets the module's attributes, including the files that it names.
Status emitHeader(ModelContext &context, mlir::ModuleOp module,
                  const std::string &folder, int64_t maxContext,
                  const ImportOptions &options) {
  mlir::OpBuilder &builder = context.builder;
  if (options.profiled)
    MTP_RETURN_IF_ERROR(checkProfiled(
        *options.profiled, methodOf(context, options), context.config.vocab));
  MTP_RETURN_IF_ERROR(
      checkSizes(module, context.draft.maxK, maxContext, options));
  auto envelope = mlir::mtp::EnvelopeAttr::getChecked(
      [&] { return module.emitError(); }, builder.getContext(),
      context.draft.maxK, options.maxBatch, maxContext, options.prefillChunk,
      options.page, context.draft.maxNodes, options.roundPromptRows,
      options.maxRows, context.draft.catchUpRows);
  if (!envelope)
    return invalidArgument("the envelope is not valid");
  module->setAttr(mlir::mtp::kEnvelopeAttr, envelope);
  module->setAttr(mlir::mtp::kGenerationAttr,
                  generationAttr(builder, context.config.generation));
  if (context.draft.maxK > 0)
    module->setAttr(mlir::mtp::kMethodAttr,
                    builder.getStringAttr(methodOf(context, options)));
  llvm::SmallVector<std::string> files;
  for (const std::string &path : context.weights.sources()) {
    MTP_ASSIGN_OR_RETURN(std::string relative, relativePath(path, options));
    files.push_back(std::move(relative));
  }
  if (options.hasWeights) {
    // A GGUF model has its tokenizer in its first file.
    std::string tokenizer =
        isGgufPath(folder) ? context.weights.sources().front() : folder;
    MTP_RETURN_IF_ERROR(emitTokenizer(context, module, tokenizer, options));
  }
  llvm::SmallVector<llvm::StringRef> names(files.begin(), files.end());
  mlir::ArrayAttr prefixes;
  const std::vector<std::string> &fronts = context.weights.prefixes();
  if (!fronts.empty())
    prefixes = builder.getStrArrayAttr(
        llvm::SmallVector<llvm::StringRef>(fronts.begin(), fronts.end()));
  mlir::mtp::WeightsOp::create(builder, builder.getUnknownLoc(),
                               builder.getStrArrayAttr(names), prefixes);
  return okStatus();
}

/// Removes the drafter's unused weights from `unused` and reports them. Copies
/// of the target's matrices, and maps that were checked, are not reported.
Status reportUnusedDrafter(const ModelContext &context, UnusedWeights &unused,
                           const ImportOptions &options) {
  std::vector<std::string> own, targets;
  auto isOwn = [&](const std::string &key) {
    if (!key.starts_with(kDrafterRoot.str()))
      return false;
    std::string_view rest = std::string_view(key).substr(kDrafterRoot.size());
    // The weights that --confidence would read.
    bool isChosen = context.draft.folder->block.hasConfidence &&
                    !context.draft.confidence &&
                    rest.find("confidence_head.proj.") != rest.npos;
    bool isKnown = isChosen || rest == "d2t" || rest == "t2d" ||
                   rest.ends_with("rotary_emb.inv_freq");
    bool isHead = rest.ends_with("lm_head.weight");
    if (isHead || rest.ends_with("embed_tokens.weight")) {
      Result<bool> isCopy = context.weights.areEqual(
          key, isHead ? context.keys.head : context.keys.embedding);
      isKnown = isCopy.isOk() && *isCopy;
    }
    bool isTargets = context.draft.folder->isTargets(rest);
    if (!isKnown && !(isTargets && context.draft.folder->isInline))
      (isTargets ? targets : own).push_back(std::string(rest));
    return true;
  };
  if (!context.draft.folder)
    return okStatus();
  std::erase_if(unused.inLayers, isOwn);
  std::erase_if(unused.elsewhere, isOwn);
  // Heads in the target's own folder are read as the drafter's.
  if (context.draft.folder->isInline)
    std::erase_if(unused.elsewhere, [&](const std::string &key) {
      return key.starts_with(kHeadsRoot);
    });
  if (!targets.empty())
    warn(options, "weights of the drafter that are its target's, whose own "
                  "are read, " +
                      listKeys(targets));
  if (own.empty())
    return okStatus();
  if (!options.allowsUnusedWeights)
    return invalidArgument("expected every weight of the drafter to be used, "
                           "got " +
                           listKeys(own) +
                           " that are not; say with --method what it is, or "
                           "go on without them with --allow-unused-weights");
  warn(options, "weights of the drafter that nothing uses, " + listKeys(own));
  return okStatus();
}

/// Reports the checkpoint's unused weights.
Status reportUnused(const ModelContext &context, const ImportOptions &options) {
  ModuleChoice choice{context.draft.modules,
                      options.maxK.has_value() ||
                          options.depthPolicy == DepthPolicy::Reuse};
  UnusedWeights unused =
      findUnusedWeights(context.weights, context.config, choice);
  MTP_RETURN_IF_ERROR(reportUnusedDrafter(context, unused, options));
  std::string text = "expected every weight under a layer to be used, got ";
  if (!unused.inLayers.empty() && !options.allowsUnusedWeights)
    return invalidArgument(text + listKeys(unused.inLayers) +
                           " that are not; correct " + context.config.file +
                           ", or go on without them with "
                           "--allow-unused-weights");
  if (!unused.inLayers.empty())
    warn(options, "weights under layers that nothing uses, " +
                      listKeys(unused.inLayers));
  if (!unused.elsewhere.empty())
    warn(options, "weights that nothing uses, " + listKeys(unused.elsewhere));
  return okStatus();
}

/// Reports the formats of a quantised folder's weights, without the modules'.
void reportFormats(const ModelConfig &config, const WeightTable &weights,
                   const ImportOptions &options) {
  bool hasModules =
      config.drafter.style != DrafterStyle::None && config.drafter.modules > 0;
  if (options.onNote)
    options.onNote("the model's weights are stored in " +
                   weights.typesUnder(config.keys().trunk,
                                      hasModules ? modulePrefix(config, 0)
                                                 : std::string()));
}

/// Returns a number of MTP modules as text.
std::string countText(int64_t modules) {
  return std::to_string(modules) + " MTP module" + (modules == 1 ? "" : "s");
}

/// Reports the MTP modules in the model's files, and whether the imported model
/// drafts with them. Other tools often leave modules out.
void reportModules(const ModelConfig &config, const WeightTable &weights,
                   const DraftPlan &draft, const ImportOptions &options) {
  if (!options.onNote)
    return;
  const DrafterConfig &drafter = config.drafter;
  int64_t found = 0;
  while (found < drafter.modules && weights.contains(moduleMark(config, found)))
    ++found;
  int64_t missing = drafter.missing + drafter.modules - found;
  if (missing > 0)
    options.onNote("the config counts " + countText(missing) +
                   " that the model's files do not contain");
  if (found == 0) {
    bool isWanted =
        !draft.folder && options.drafter.kind == DrafterKind::Modules;
    if (missing == 0 && isWanted)
      options.onNote("no drafter in the model's files; --drafter has methods "
                     "that need none");
    return;
  }
  std::string where =
      drafter.file.empty() ? "the model's files" : "\"" + drafter.file + "\"";
  std::string text = countText(found) + " in " + where + ", in " +
                     weights.typesUnder(modulePrefix(config, 0)) + ", ";
  if (draft.modules == found)
    text += found == 1 ? "which drafts" : "which draft";
  else if (draft.modules > 0)
    text += std::to_string(draft.modules) + " of which " +
            (draft.modules == 1 ? "drafts" : "draft");
  else
    text += found == 1 ? "which is not used" : "which are not used";
  options.onNote(text);
}

Result<mlir::OwningOpRef<mlir::ModuleOp>>
emitModel(mlir::MLIRContext &mlirContext, const std::string &folder,
          ImportOptions options) {
  std::optional<WeightTable> opened;
  MTP_ASSIGN_OR_RETURN(ModelConfig config, readModel(folder, options, opened));
  WeightTable &weights = *opened;
  MTP_ASSIGN_OR_RETURN(SharedKeys keys,
                       consultWeights(config, weights, options));
  MTP_ASSIGN_OR_RETURN(std::optional<DrafterFolder> drafter,
                       readFolder(folder, config, options, weights, keys));
  // A profile's number of drafts and tree would be errors about other flags.
  if (options.profiled)
    MTP_RETURN_IF_ERROR(checkProfiledMethod(
        *options.profiled, drafter ? std::string(toString(drafter->method))
                                   : methodName(options.drafter)));
  MTP_ASSIGN_OR_RETURN(
      DraftPlan draft,
      planDrafts(config, drafter ? &*drafter : nullptr, options));
  dropPenalty(draft, options, config);
  MTP_ASSIGN_OR_RETURN(draft.maxContext, planContext(config, options));
  if (options.hasWeights)
    MTP_RETURN_IF_ERROR(checkModules(config, weights, draft.modules));
  MTP_RETURN_IF_ERROR(
      findOwnTables(config, weights, draft.modules, keys.embedding, keys.head));
  if (options.hasWeights && weights.isQuantized())
    reportFormats(config, weights, options);
  if (options.hasWeights)
    reportModules(config, weights, draft, options);

  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&mlirContext));
  ModelContext context{config,
                       draft,
                       std::move(keys),
                       weights,
                       mlir::OpBuilder::atBlockBegin(module->getBody()),
                       okStatus()};
  MTP_RETURN_IF_ERROR(
      emitHeader(context, *module, folder, draft.maxContext, options));
  emitCaches(context, options);
  emitLogitRules(context);
  emitFunctions(context);
  emitRound(context);
  emitFolderPrefill(context);
  MTP_RETURN_IF_ERROR(context.failure);
  MTP_RETURN_IF_ERROR(verifyModule(*module, options));
  MTP_RETURN_IF_ERROR(reportUnused(context, options));
  return module;
}

} // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &folder,
            const ImportOptions &options) {
  loadImportDialects(context);
  // Diagnostics of the dialect become part of the status.
  std::string objections;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        objections += (objections.empty() ? "" : "; ") + diagnostic.str();
        return mlir::success();
      });
  auto module = emitModel(context, folder, options);
  if (module || objections.empty())
    return module;
  return Status(module.status().code(),
                std::string(module.status().message()) + ": " + objections);
}

} // namespace mtp::importer
