//===- Options.h - Options of mtp-run ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_OPTIONS_H
#define MTP_TOOLS_MTP_RUN_OPTIONS_H

#include "mtp/session.h"
#include "mtp/tokenizer.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/chat/tools/ToolFormat.h"
#include "tools/start/CacheCommand.h"
#include "tools/start/StartModel.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp {

/// Sampling parameters from flags. The model's recommendation fills the rest.
struct SamplingFlags {
  std::optional<float> temperature;
  std::optional<uint32_t> topK;
  std::optional<float> topP;
  std::optional<float> minP;
  uint64_t seed = 0;

  /// Returns whether no flag overrides the model's values.
  bool isModels() const { return !temperature && !topK && !topP && !minP; }
};

struct RunOptions {
  /// An artifact or a model; from findArtifact() on, the artifact.
  std::string artifact;
  start::StartOptions start;
  start::CacheCommand cache = start::CacheCommand::None;
  LoadOptions load;
  SessionOptions session;

  // Text generation.
  std::vector<std::string> prompts;
  /// "-": standard input.
  std::vector<std::string> promptFiles;
  /// Prompts as token ids, "1,2,3".
  std::vector<std::string> ids;
  /// Parse the strings of special tokens in prompts as tokens.
  bool special = false;
  bool noStartTokens = false;
  SamplingFlags sampling;
  /// Absent: 128, or the rest of the context.
  std::optional<uint32_t> maxTokens;
  LogitRules rules;
  /// Absent: the model's.
  std::optional<float> repetitionPenalty;
  /// "TOKEN=NUMBER": biases of tokens.
  std::vector<std::string> biases;
  std::vector<uint32_t> allowedTokens;
  std::vector<std::string> badWords;
  std::vector<uint32_t> stopTokens;
  /// A GBNF grammar or its file, or a JSON Schema or its file; empty: none.
  std::string grammar, grammarFile, jsonSchema, jsonSchemaFile;
  bool ignoreEos = false;
  uint32_t minTokens = 0;
  /// "[PROMPT:]NAME=TENSOR": inputs of requests.
  std::vector<std::string> requestInputs;
  std::vector<std::string> requestOutputs;
  LogprobsRequest logprobs;
  /// Include each round's drafts in the JSON.
  bool draftRounds = false;
  bool printIds = false;
  bool json = false;
  bool stats = false;
  /// Compare the drafter with the profile instead of generating.
  bool checkDrafter = false;

  // A chat instead of prompts.
  bool chat = false;
  /// A file that replaces the artifact's template; empty: none.
  std::string chatTemplate;
  std::string system;
  /// A JSON object with variables for the template; empty: none.
  std::string templateVariables;
  /// Absent: detected from the template.
  std::optional<ReasoningFormat> reasoning;
  /// A JSON file with the tools that answers may call; empty: none.
  std::string tools;
  /// Absent: detected from the template.
  std::optional<ToolFormat> toolFormat;
  bool color = false;

  // Scoring of prompts instead of generation.
  bool perplexity = false;
  /// Tokens that are scored together. Absent: the envelope's context.
  std::optional<uint32_t> window;
  /// Artifact whose distributions are compared; empty: none.
  std::string reference;

  /// The file for statistics of activations; empty: none.
  std::string activations;
  /// Texts that the model samples for these statistics, in place of prompts.
  std::optional<uint32_t> sampledTexts;

  // Functions.
  std::string function;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::vector<std::string> outputs;
  double tolerance = 0;
};

/// Returns the sampling parameters of a run: the model's, each overridden by
/// its flag.
inline SamplingParams settleSampling(const SamplingFlags &flags,
                                     const GenerationInfo &model) {
  SamplingParams params;
  params.temperature = flags.temperature.value_or(model.temperature);
  params.topK = flags.topK.value_or(model.topK);
  params.topP = flags.topP.value_or(model.topP);
  params.minP = flags.minP.value_or(model.minP);
  params.seed = flags.seed;
  return params;
}

/// Returns the rules of a run from its flags and the model's defaults. Bad
/// words need a tokenizer.
Result<LogitRules> rulesOf(const RunOptions &options, const Model &model,
                           const Tokenizer *tokenizer);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_OPTIONS_H
