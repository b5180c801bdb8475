//===- ReadDrafterFolder.cpp - Recognising and reading a drafter ----------===//

#include "compiler/Import/config/ConfigFamilies.h"
#include "compiler/Import/config/GgufConfig.h"
#include "compiler/Import/config/MetaConfig.h"
#include "compiler/Import/drafters/DrafterReaders.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/PathKind.h"

#include <algorithm>
#include <filesystem>

namespace mtp::importer {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr int64_t kMostProposed = 1024;

/// Signs of unsupported drafters, in lower case: parts of the names in
/// "architectures", "model_type" and "speculators_model_type".
constexpr std::string_view kUnread[] = {
    "dflash2", "dfly", "lilicorr", "domino", "mlp_specul", "gemma4", "mtp"};

std::string lower(std::string text) {
  for (char &c : text)
    c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return text;
}

/// Returns all names by which a config identifies its model.
std::vector<std::string> namesOf(ConfigFields &fields) {
  std::vector<std::string> names = fields.texts("architectures");
  for (const char *key : {"speculators_model_type", "model_type"})
    names.push_back(fields.textOr(key, ""));
  for (std::string &name : names)
    name = lower(name);
  return names;
}

bool anyHas(const std::vector<std::string> &names, std::string_view part) {
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    return name.find(part) != name.npos;
  });
}

bool hasAny(const ConfigFields &fields,
            std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return fields.has(key); });
}

bool isThere(const WeightSet *weights,
             std::initializer_list<std::string_view> keys) {
  return weights &&
         std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
           return weights->contains(key);
         });
}

/// Recognises the method from the config, if the config shows it.
std::optional<FolderMethod>
recogniseConfig(ConfigFields &fields, const std::vector<std::string> &names) {
  if (anyHas(names, "dspark") || fields.has("markov_rank"))
    return FolderMethod::DSpark;
  if (anyHas(names, "dflash") || fields.has("dflash_config"))
    return FolderMethod::DFlash;
  if (anyHas(names, "medusa") ||
      hasAny(fields, {"medusa_num_heads", "medusa_num_layers"}))
    return FolderMethod::Medusa;
  if (anyHas(names, "peagle") || fields.has("ptd_token_id"))
    return FolderMethod::PEagle;
  if (anyHas(names, "eagle3") ||
      hasAny(fields, {"draft_vocab_size", "norm_before_residual",
                      "eagle_config", "eagle_aux_hidden_state_layer_ids"}))
    return FolderMethod::Eagle3;
  if (anyHas(names, "eagle"))
    return FolderMethod::Eagle;
  // Keys of Meta's params.json.
  if (fields.has("dim") && fields.has("n_heads"))
    return FolderMethod::Heads;
  return std::nullopt;
}

/// Recognises the method from the tensors, if the tensors show it. EAGLE-1's
/// drafters have no norm after their layers.
std::optional<FolderMethod>
recogniseTensors(const WeightSet *weights,
                 const std::vector<std::string> &names) {
  if (isThere(weights, {"0.0.linear.weight", "medusa_head.0.0.linear.weight",
                        "blocks.0.layers.0.weight"}))
    return FolderMethod::Medusa;
  if (isThere(weights, {"mask_hidden", "model.mask_hidden"}))
    return FolderMethod::PEagle;
  if (isThere(weights, {kHeadMark}))
    return FolderMethod::Heads;
  for (const std::string root : {"", "model."}) {
    if (isThere(weights, {root + "midlayer.self_attn.q_proj.weight",
                          root + "layers.0.hidden_norm.weight"}))
      return FolderMethod::Eagle3;
    // Without the extra heads DeepSpec's DSpark and DFlash have equal tensors,
    // so the config decides.
    if (isThere(weights, {root + "hidden_norm.weight"}))
      return isThere(weights, {root + "markov_head.markov_w1.weight",
                               root + "confidence_head.proj.weight"}) ||
                     anyHas(names, "dspark")
                 ? FolderMethod::DSpark
                 : FolderMethod::DFlash;
    if (isThere(weights, {root + "fc.weight", root + "fusion_fc.weight"}))
      return isThere(weights, {root + "norm.weight"}) ? FolderMethod::Eagle3
                                                      : FolderMethod::Eagle;
  }
  // A model, whose keys may lack its class's prefix.
  if (isThere(weights, {"model.layers.0.input_layernorm.weight"}) ||
      (isThere(weights, {"layers.0.input_layernorm.weight"}) &&
       isThere(weights, {"norm.weight"}) &&
       isThere(weights, {"embed_tokens.weight"})))
    return FolderMethod::Model;
  return std::nullopt;
}

Result<FolderMethod> recognise(ConfigFields &fields, const WeightSet *weights) {
  std::vector<std::string> names = namesOf(fields);
  MTP_RETURN_IF_ERROR(fields.status());
  for (std::string_view sign : kUnread)
    if (anyHas(names, sign))
      return unimplemented("expected a drafter of the methods " +
                           listFolderMethods() + ", got one of \"" +
                           std::string(sign) + "\"");
  if (hasAny(fields, {"dspark_target_layer_ids"}))
    return unimplemented("expected a drafter of the methods " +
                         listFolderMethods() +
                         ", got \"dspark_target_layer_ids\", DSpark within "
                         "DeepSeek-V4");
  std::optional<FolderMethod> method = recogniseTensors(weights, names);
  if (!method)
    method = recogniseConfig(fields, names);
  // PARD is an ordinary model with a token for masks.
  if (fields.has("pard_token") && (!method || method == FolderMethod::Model))
    return FolderMethod::Pard;
  if (method)
    return *method;
  if (weights)
    return invalidArgument("expected the tensors of a drafter, got none of "
                           "those that tell " +
                           listFolderMethods());
  // The config of EAGLE-1's drafters is that of a llama with one layer.
  return invalidArgument("expected a config that says what it is, got none of "
                         "the keys that do; say so with --method (" +
                         listFolderMethods() + ")");
}

/// Reads the proposed number of drafts from speculators' config: that of its
/// default method, or of the first method.
Status readProposal(ConfigFields &fields, DrafterFolder &drafter) {
  std::optional<ConfigFields> inner = fields.child("speculators_config");
  if (!inner)
    return fields.status();
  std::string chosen = inner->textOr("default_proposal_method", "");
  for (ConfigFields &method : inner->children("proposal_methods")) {
    bool isChosen = method.textOr("proposal_type", "") == chosen;
    if (drafter.proposed == 0 || isChosen)
      drafter.proposed =
          method.integerOr("speculative_tokens", 0, kMostProposed, 0);
    inner->adopt(method);
    if (isChosen)
      break;
  }
  fields.adopt(*inner);
  if (drafter.proposed > 0)
    drafter.notes.push_back("its config proposes " +
                            std::to_string(drafter.proposed) +
                            " drafts in a round (speculative_tokens)");
  return fields.status();
}

/// Returns the files that hold a drafter's weights.
Result<std::vector<std::string>> findFiles(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json",
                           "medusa_lm_head.safetensors"})
    if (fs::exists(fs::path(folder) / name, error))
      return std::vector{(fs::path(folder) / name).string()};
  return WeightSet::findFiles(folder);
}

} // namespace

Result<DrafterFolder> parseDrafter(std::string_view config,
                                   const WeightSet *weights,
                                   const ModelConfig &target,
                                   std::optional<FolderMethod> method) {
  MTP_ASSIGN_OR_RETURN(JsonTree document, parseObject(config));
  // parseObject() has checked that the root is an object.
  ConfigFields fields(document.root().get_object().value_unsafe());
  DrafterFolder drafter;
  MTP_ASSIGN_OR_RETURN(drafter.method, method ? Result<FolderMethod>(*method)
                                              : recognise(fields, weights));
  DrafterSource source{fields, weights, target};
  switch (drafter.method) {
  case FolderMethod::Eagle:
    MTP_RETURN_IF_ERROR(readEagle(source, drafter));
    break;
  case FolderMethod::Eagle3:
    MTP_RETURN_IF_ERROR(readEagle3(source, drafter));
    break;
  case FolderMethod::Medusa:
    MTP_RETURN_IF_ERROR(readMedusa(source, drafter));
    break;
  case FolderMethod::Model:
    MTP_RETURN_IF_ERROR(readDraftModel(source, drafter));
    break;
  case FolderMethod::DFlash:
  case FolderMethod::DSpark:
    MTP_RETURN_IF_ERROR(readBlock(source, drafter));
    break;
  case FolderMethod::Pard:
    MTP_RETURN_IF_ERROR(readPard(source, drafter));
    break;
  case FolderMethod::Heads:
    MTP_RETURN_IF_ERROR(readHeads(source, drafter));
    break;
  case FolderMethod::PEagle:
    MTP_RETURN_IF_ERROR(readPEagle(source, drafter));
    break;
  }
  MTP_RETURN_IF_ERROR(readProposal(fields, drafter));
  return drafter;
}

/// Reads a drafter in GGUF: one of EAGLE-3, DFlash or DSpark, or a model.
static Result<DrafterFolder> readGgufDrafter(const std::string &path,
                                             const ModelConfig &target,
                                             std::optional<FolderMethod> method,
                                             bool hasWeights) {
  MTP_ASSIGN_OR_RETURN(GgufModel model, GgufModel::open(path));
  MTP_ASSIGN_OR_RETURN(GgufContent content, describeGguf(model.parts));
  MTP_ASSIGN_OR_RETURN(std::string config, translateGgufConfig(model.parts));
  if (!content.isDrafter && !method)
    method = FolderMethod::Model;
  std::optional<WeightSet> weights;
  if (hasWeights) {
    // Braces, because the macro expands to several statements.
    MTP_ASSIGN_OR_RETURN(weights, WeightSet::openFiles(model.paths));
  }
  MTP_ASSIGN_OR_RETURN(
      DrafterFolder drafter,
      parseDrafter(config, weights ? &*weights : nullptr, target, method));
  drafter.format = "GGUF";
  drafter.path = path;
  if (hasWeights)
    drafter.files = std::move(model.paths);
  return drafter;
}

Result<DrafterFolder> readDrafterFolder(const std::string &folder,
                                        const ModelConfig &target,
                                        std::optional<FolderMethod> method,
                                        bool hasWeights) {
  // Meta's checkpoints have params.json instead.
  std::string where = "--drafter \"" + folder + "\"";
  PathUse use = hasWeights ? PathUse::Import : PathUse::ImportConfig;
  if (Status status = checkPath(folder, use); !status.isOk())
    return status.withContext("--drafter");
  if (isGgufPath(folder)) {
    Result<DrafterFolder> drafter =
        readGgufDrafter(folder, target, method, hasWeights);
    if (!drafter)
      return drafter.status().withContext(where);
    return drafter;
  }
  std::error_code error;
  fs::path path = fs::path(folder) / "config.json";
  if (!fs::exists(path, error) &&
      fs::exists(fs::path(folder) / "params.json", error))
    path.replace_filename("params.json");
  MTP_ASSIGN_OR_RETURN(std::string config,
                       readTextFile(path.string(), kMaxConfigBytes));
  std::vector<std::string> files;
  std::optional<WeightSet> weights;
  if (hasWeights) {
    Result<std::vector<std::string>> found = findFiles(folder);
    if (!found)
      return found.status().withContext(where);
    files = std::move(*found);
    MTP_ASSIGN_OR_RETURN(weights, WeightSet::openFiles(files));
  }
  Result<DrafterFolder> drafter =
      parseDrafter(config, weights ? &*weights : nullptr, target, method);
  if (!drafter)
    return drafter.status().withContext(where);
  constexpr const char *kMaskFile = "mask_embedding.pt";
  if (drafter->isBlock() && fs::exists(fs::path(folder) / kMaskFile, error))
    return unimplemented(where +
                         ": expected the mask's row in the embedding, "
                         "got " +
                         kMaskFile + " beside it");
  drafter->path = folder;
  drafter->files = std::move(files);
  return drafter;
}

} // namespace mtp::importer
