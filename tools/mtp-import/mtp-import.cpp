//===- mtp-import.cpp - Checkpoint to MLIR --------------------------------===//

#include "compiler/Import/Importer.h"
#include "compiler/Import/library/DrafterLibrary.h"
#include "compiler/Import/plan/ProfilePlan.h"
#include "compiler/Import/plan/RuleReader.h"
#include "tools/compiler-support/CompilerTool.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using mtp::importer::DepthPolicy;
using mtp::importer::ImportOptions;
using mtp::importer::KvType;

static cl::OptionCategory category("mtp-import options");

static cl::opt<std::string> folder(cl::Positional,
                                   cl::desc("<model folder or GGUF file>"),
                                   cl::cat(category));
static cl::opt<std::string> output("o", cl::init("-"),
                                   cl::desc("output file (default: stdout)"),
                                   cl::value_desc("file"), cl::cat(category));
static cl::opt<int64_t>
    maxK("k",
         cl::desc("most drafts per round (default: what the drafter's config "
                  "proposes, or a block or heads have; else 3 if there is a "
                  "drafter)"),
         cl::value_desc("drafts"), cl::cat(category));
static cl::opt<int64_t> maxBatch("max-batch", cl::init(4),
                                 cl::desc("slots (default: 4)"),
                                 cl::value_desc("slots"), cl::cat(category));
static cl::opt<int64_t>
    maxContext("max-context",
               cl::desc("tokens per slot (default: 4096, or the model's)"),
               cl::value_desc("tokens"), cl::cat(category));
static cl::opt<int64_t>
    prefillChunk("prefill-chunk", cl::init(128),
                 cl::desc("rows per prefill program (default: 128)"),
                 cl::value_desc("rows"), cl::cat(category));
static cl::opt<int64_t> roundPromptRows(
    "max-mixed-prefill-tokens", cl::init(0),
    cl::desc("rows of a prompt that a round may have beside its own, at most "
             "--prefill-chunk (default: 0, prompts have passes of their own)"),
    cl::value_desc("rows"), cl::cat(category));
static cl::opt<std::string> maxRows(
    "max-verify-tokens", cl::init("0"),
    cl::desc("rows of all slots together that a round verifies; drafts that "
             "are more are trimmed (default: 0, all of them); profile: what "
             "pays by --profile"),
    cl::value_desc("rows"), cl::cat(category));
static cl::opt<int64_t> catchUpRows(
    "catch-up-rows",
    cl::desc(
        "tokens that drafters may lag in rounds without drafts and "
        "be refreshed, for a hidden state each that a slot keeps; 0: none "
        "(default: 64 for drafters with cache entries of the model's hidden "
        "states, else 0)"),
    cl::value_desc("tokens"), cl::cat(category));
static cl::opt<int64_t> page("page", cl::init(16),
                             cl::desc("tokens per cache page (default: 16)"),
                             cl::value_desc("tokens"), cl::cat(category));
static cl::opt<std::string> drafter(
    "drafter",
    cl::desc("what drafts: lookup[:min,max], n-grams of min to max "
             "tokens that stood before; suffix, what followed the "
             "longest run most often; lookahead:W,N,G, a window of W "
             "columns, n-grams of N tokens and G guesses; or the folder "
             "or GGUF file of a drafter that is published for the model, or "
             "the GGUF file of its MTP modules (default: the model's own MTP "
             "modules)"),
    cl::value_desc("spec"), cl::cat(category));
static cl::opt<std::string>
    before("before",
           cl::desc("lookup[:min,max]: its drafts, in each slot where it has "
                    "some, come before those of the drafter"),
           cl::value_desc("spec"), cl::cat(category));
static cl::opt<std::string>
    method("method",
           cl::desc("what the drafter in a folder is, if not what it looks "
                    "like: dflash, dspark, eagle, hass, eagle3, medusa, model, "
                    "pard, heads or p-eagle"),
           cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string> draftTree(
    "draft-tree", cl::init("chain"),
    cl::desc("how the drafts of the model's MTP modules, or of a drafter in a "
             "folder, are arranged: chain (default), "
             "dynamic:depth,width,nodes, which ,raw after it ranks without "
             "noise and ,sharp=N by powers of probabilities, or a file with a "
             "list of paths, as medusa_choices; with --profile also dynamic "
             "alone"),
    cl::value_desc("tree"), cl::cat(category));
static cl::opt<std::string> profilePath(
    "profile",
    cl::desc("a profile of mtp-tune: decides between a chain and a static "
             "tree of the measured ranks, with the shape that gives the most "
             "tokens per second, if --draft-tree does not; and the number of "
             "drafts of a chain or a block, if -k does not"),
    cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string> confidence(
    "confidence",
    cl::desc("between 0 and 1: drafts end before the first one that the "
             "drafter is less sure of, by its confidence head, or in a chain "
             "that is drafted step by step by the draft's probability, unless "
             "a session says another number (default: none does); profile "
             "takes the number that pays from --profile"),
    cl::value_desc("least"), cl::cat(category));
// main() adds the library's rules to the description.
static cl::opt<std::string> acceptRule("accept", cl::init("exact"),
                                       cl::value_desc("rule"),
                                       cl::cat(category));
static cl::opt<bool>
    showDrafts("show-drafts",
               cl::desc("let rounds stop for a host that sees what they draft "
                        "(mtp.await_host), as mtp-run --draft-rounds does"),
               cl::cat(category));
static cl::opt<bool> withoutLogitRules(
    "without-logit-rules",
    cl::desc("omit what lets requests have penalties, a bias of tokens, "
             "allowed tokens, bad words, end tokens that are masked at first, "
             "and grammars, and its 8 bytes for each slot and token"),
    cl::cat(category));
static cl::opt<std::string> drafterLibrary(
    "drafter-library",
    cl::desc("a folder whose files come before those of the drafter library; "
             "mtpc takes the same flag"),
    cl::value_desc("dir"), cl::cat(category));
static cl::opt<std::string> printLibrary(
    "print-library",
    cl::desc("print a file of the drafter library, or their names"),
    cl::value_desc("file"), cl::ValueOptional, cl::cat(category));
static cl::opt<DepthPolicy> depthPolicy(
    "draft-depth-policy", cl::desc("which module drafts at which depth:"),
    cl::init(DepthPolicy::PerDepth),
    cl::values(clEnumValN(DepthPolicy::PerDepth, "per-depth",
                          "module d at depth d, the last one beyond (default)"),
               clEnumValN(DepthPolicy::Reuse, "reuse",
                          "the first module at every depth")),
    cl::cat(category));
static cl::opt<bool> noWeights("no-weights",
                               cl::desc("structure only, from the config"),
                               cl::cat(category));
static cl::opt<mtp::WeightType>
    dtype("dtype",
          cl::desc("what matrices are kept in (default: the least of the two "
                   "that has the values in the files):"),
          cl::values(clEnumValN(mtp::WeightType::BF16, "bf16", "bfloat16"),
                     clEnumValN(mtp::WeightType::F32, "f32", "binary32")),
          cl::cat(category));
static cl::opt<KvType>
    kvDtype("kv-dtype",
            cl::desc("what KV caches are kept in (default: f32 if the model's "
                     "matrices are f32, else bf16):"),
            cl::values(clEnumValN(KvType::BF16, "bf16", "bfloat16"),
                       clEnumValN(KvType::F32, "f32", "binary32"),
                       clEnumValN(KvType::I8, "int8",
                                  "integers, and a scale for each head and "
                                  "token of keys and of values")),
            cl::cat(category));

static cl::opt<bool> allowUnusedWeights(
    "allow-unused-weights",
    cl::desc("import though weights under a layer would not be used"),
    cl::cat(category));

/// Whether --profile is to choose --confidence.
static bool choosesConfidence() { return confidence == "profile"; }

/// Reads --confidence, unless the profile chooses it.
static mtp::Result<std::optional<double>> readConfidence() {
  if (!confidence.getNumOccurrences())
    return std::optional<double>();
  double least = 0;
  // Artifacts have the number as an f32.
  if (llvm::StringRef(confidence).getAsDouble(least) ||
      !(float(least) > 0 && float(least) < 1))
    return mtp::invalidArgument("--confidence: expected a number between 0 and "
                                "1, or profile, got " +
                                confidence);
  return std::optional<double>(least);
}

/// Checks that --confidence=profile has a profile, and chains.
static mtp::Status checkConfidence() {
  if (!choosesConfidence())
    return mtp::okStatus();
  if (!profilePath.getNumOccurrences())
    return mtp::invalidArgument(
        "--confidence: expected --profile with the value profile, got none");
  if (draftTree != "chain")
    return mtp::invalidArgument("--confidence: expected --draft-tree=chain, "
                                "got " +
                                draftTree);
  return mtp::okStatus();
}

/// Describes --accept by the rules that the library in the tool declares.
static void describeRules(mlir::MLIRContext &context) {
  static std::string text = "which drafts stay: exact (default)";
  auto rules = mtp::importer::readRules(context, /*libraryFolder=*/"");
  if (rules)
    text += ", " + mtp::importer::listRules(*rules, /*areLossy=*/false) +
            ", lossless in distribution; " +
            mtp::importer::listRules(*rules, /*areLossy=*/true) + ", lossy";
  acceptRule.setDescription(text);
}

/// Reads --accept. The default needs no rules of the library.
static mtp::Result<mtp::importer::AcceptSpec>
readAcceptRule(mlir::MLIRContext &context) {
  std::vector<mtp::importer::AcceptRule> rules;
  if (acceptRule != "exact") {
    MTP_ASSIGN_OR_RETURN(rules,
                         mtp::importer::readRules(context, drafterLibrary));
  }
  return mtp::importer::parseAcceptSpec(acceptRule, rules);
}

static void readTypes(ImportOptions &options) {
  if (dtype.getNumOccurrences())
    options.matrixType = dtype;
  if (kvDtype.getNumOccurrences())
    options.kvType = kvDtype;
}

/// Reads --max-verify-tokens; a profile decides later.
static mtp::Status readMaxRows(ImportOptions &options) {
  if (maxRows == "profile") {
    const std::string flag = "--max-verify-tokens: expected ";
    if (!profilePath.getNumOccurrences())
      return mtp::invalidArgument(flag + "--profile with profile, got none");
    // The number of rows that chains leave to each other is unknown.
    if (confidence.getNumOccurrences())
      return mtp::invalidArgument(flag +
                                  "a number with --confidence, got profile");
    if (acceptRule != "exact")
      return mtp::invalidArgument(flag + "--accept=exact with profile, got " +
                                  acceptRule);
    return mtp::okStatus();
  }
  if (llvm::StringRef(maxRows).getAsInteger(0, options.maxRows))
    return mtp::invalidArgument(
        "--max-verify-tokens: expected a number of rows or profile, got '" +
        maxRows + "'");
  return mtp::okStatus();
}

/// Reads --draft-tree, -k and --profile, which decides what the others leave
/// open.
static mtp::Status readTree(ImportOptions &options) {
  if (maxK.getNumOccurrences())
    options.maxK = maxK;
  MTP_RETURN_IF_ERROR(readMaxRows(options));
  if (!profilePath.getNumOccurrences()) {
    MTP_ASSIGN_OR_RETURN(options.tree,
                         mtp::importer::parseDraftTree(std::string(draftTree)));
    return mtp::okStatus();
  }
  mtp::importer::ProfileRequest request;
  request.choosesConfidence = choosesConfidence();
  if (draftTree.getNumOccurrences() || request.choosesConfidence)
    request.tree = draftTree;
  request.maxK = options.maxK;
  request.maxBatch = maxBatch;
  request.limitsRows = maxRows == "profile";
  MTP_ASSIGN_OR_RETURN(mtp::importer::ProfileDecision decision,
                       mtp::importer::decideByProfile(profilePath, request));
  options.tree = decision.tree;
  options.maxK = decision.maxK;
  if (request.limitsRows)
    options.maxRows = decision.maxRows;
  options.confidence = decision.confidence;
  options.profiled = decision.model;
  llvm::errs() << "mtp-import: note: " << decision.text;
  return mtp::okStatus();
}

static mtp::Result<ImportOptions> readOptions(mlir::MLIRContext &context) {
  ImportOptions options;
  if (drafter.getNumOccurrences()) {
    MTP_ASSIGN_OR_RETURN(options.drafter,
                         mtp::importer::parseDrafterSpec(drafter));
  }
  if (before.getNumOccurrences()) {
    // Braces, because the macro expands to several statements.
    MTP_ASSIGN_OR_RETURN(options.before, mtp::importer::parseBefore(before));
  }
  if (method.getNumOccurrences()) {
    options.method = mtp::importer::parseFolderMethod(method);
    if (!options.method)
      return mtp::invalidArgument("--method: expected " +
                                  mtp::importer::listFolderMethods() +
                                  ", got '" + method + "'");
  }
  MTP_RETURN_IF_ERROR(checkConfidence());
  MTP_RETURN_IF_ERROR(readTree(options));
  if (!choosesConfidence()) {
    // Braces, because the macro expands to several statements.
    MTP_ASSIGN_OR_RETURN(options.confidence, readConfidence());
  }
  MTP_ASSIGN_OR_RETURN(options.accept, readAcceptRule(context));
  options.showsDrafts = showDrafts;
  options.hasLogitRules = !withoutLogitRules;
  options.libraryFolder = drafterLibrary;
  if (maxContext.getNumOccurrences())
    options.maxContext = maxContext;
  readTypes(options);
  options.maxBatch = maxBatch;
  options.prefillChunk = prefillChunk;
  options.roundPromptRows = roundPromptRows;
  if (catchUpRows.getNumOccurrences())
    options.catchUpRows = catchUpRows;
  options.page = page;
  options.depthPolicy = depthPolicy;
  options.hasWeights = !noWeights;
  options.allowsUnusedWeights = allowUnusedWeights;
  options.onWarning = [](const std::string &text) {
    llvm::errs() << "mtp-import: warning: " << text << '\n';
  };
  options.onNote = [](const std::string &text) {
    llvm::errs() << "mtp-import: note: " << text << '\n';
  };
  llvm::StringRef parent = llvm::sys::path::parent_path(output);
  if (output != "-" && !parent.empty())
    options.outputFolder = parent.str();
  return options;
}

static cl::extrahelp examples(R"(
Examples:
  mtp-import Qwen3-8B -o Qwen3-8B/model.mlir --max-batch 4 --max-context 8192
  mtp-import SmolLM2-135M-Instruct-Q4_1.gguf -o model.mlir --drafter suffix
  mtp-import ./DeepSeek-V3 -o v3.mlir --no-weights -k 2
  mtp-import Qwen3-8B -o Qwen3-8B/lookup.mlir --drafter lookup:2,5 -k 4
  mtp-import MiMo-7B-Base -o MiMo-7B-Base/model.mlir --before lookup:3,5
  mtp-import MiMo-7B-Base -o MiMo-7B-Base/model.mlir -k 4 --confidence 0.3
  mtp-import MiMo-7B-Base -o MiMo-7B-Base/tree.mlir --draft-tree dynamic:4,4,17
  mtp-import --print-library=lookup.mlir
  mtp-import Llama-3.1-8B --drafter EAGLE3-Llama-3.1-8B -o e3.mlir -k 5
  mtp-import Qwen3-8B --drafter dspark_block7 --confidence 0.5 -o d.mlir
  mtp-import Vicuna-7B --drafter medusa --draft-tree choices.json -o m.mlir
)");

static int fail(const llvm::Twine &message,
                mtp::ExitCode code = mtp::kFailure) {
  return mtp::toolError("mtp-import", message, code);
}

/// Prints the files that --print-library names.
static int printFiles() {
  namespace drafters = mtp::drafters;
  auto text = drafters::findLibraryFile(printLibrary);
  if (text) {
    llvm::outs() << *text;
  } else if (printLibrary.empty()) {
    for (const drafters::LibraryFile &file : drafters::libraryFiles())
      llvm::outs() << file.name << '\n';
  } else {
    return fail("--print-library: expected " + drafters::listLibraryFiles() +
                    ", got '" + printLibrary + "'",
                mtp::kWrongFlags);
  }
  return mtp::kSuccess;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  describeRules(context);
  mtp::parseToolFlags(argc, argv, "mtp-import",
                      "Imports a Hugging Face folder or a GGUF file into "
                      "MLIR.\n",
                      [](const cl::Option &option) {
                        return llvm::is_contained(option.Categories, &category);
                      });
  if (printLibrary.getNumOccurrences())
    return printFiles();
  if (folder.empty())
    return fail("expected a model's folder or a GGUF file", mtp::kWrongFlags);
  // Refuses to overwrite checkpoints, which are large and slow to download
  // again.
  llvm::StringRef extension = llvm::sys::path::extension(output);
  if (extension == ".json" || extension == ".safetensors" ||
      extension == ".gguf")
    return fail("-o: expected a file that is no part of a checkpoint, got '" +
                    output + "'",
                mtp::kWrongFlags);
  if (llvm::sys::fs::is_directory(output))
    return fail("cannot write '" + output + "': Is a directory");
  mtp::Result<ImportOptions> options = readOptions(context);
  if (!options)
    return fail(llvm::StringRef(options.status().message()), mtp::kWrongFlags);
  auto module = mtp::importer::importModel(context, folder, *options);
  if (!module)
    return fail(llvm::StringRef(module.status().message()));
  llvm::Error error =
      mtp::writeWholeFile(output, [&](llvm::raw_ostream &stream) {
        // A module that imports library functions cannot be verified without
        // the library. importModel() has already verified it with the library.
        (*module)->print(
            stream,
            mlir::OpPrintingFlags().printNameLocAsPrefix().assumeVerified());
      });
  return error ? fail(llvm::toString(std::move(error))) : mtp::kSuccess;
}
