//===- Collect.cpp - Statistics of activations ----------------------------===//

#include "tools/mtp-run/Collect.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/mtp-run/SecondMoments.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <map>
#include <random>

using namespace mtp;

static constexpr std::string_view kProjectionInputs = "projection_inputs";
/// Tokens of a sampled text without --window.
static constexpr size_t kSampledTokens = 256;

/// Adds a kind of rows for each output of the function.
static Status addKinds(const Model &model, size_t rows,
                       SecondMoments &moments) {
  MTP_ASSIGN_OR_RETURN(std::vector<PortType> outputs,
                       model.functionOutputs(kProjectionInputs));
  for (const PortType &port : outputs) {
    const std::vector<uint64_t> &shape = port.type.shape;
    if (port.type.element != ElementType::F32 || shape.size() != 2 ||
        shape[0] != rows)
      return failedPrecondition(strCat("expected outputs of ", rows,
                                       " rows of f32 of @", kProjectionInputs,
                                       ", got ", port.name));
    moments.addKind(port.name, shape[1]);
  }
  return okStatus();
}

/// Returns the request of a text that the model samples. It begins with the
/// start token and a random token, so that texts differ.
static Request sampledRequest(const Model &model, uint32_t number,
                              size_t window) {
  Request request;
  const GenerationInfo &generation = model.generation();
  if (generation.addBos && generation.bos)
    request.prompt.push_back(*generation.bos);
  std::mt19937 random(number);
  request.prompt.push_back(int32_t(random() % model.envelope()->vocab));
  request.maxTokens = uint32_t(window - request.prompt.size());
  request.sampling.temperature = 1;
  request.sampling.seed = number;
  request.ignoreEos = true;
  return request;
}

/// Returns texts of `window` tokens that the model writes, each with its own
/// seed.
static Result<std::vector<Prompt>>
sampleTexts(Session &session, const RunOptions &options, size_t window) {
  const Model &model = *session.model();
  if (window < 3)
    return invalidArgument(strCat("expected --window of 3 or more with "
                                  "--sampled-texts, got ",
                                  window));
  std::vector<Prompt> texts;
  std::map<SequenceId, size_t> numbers;
  for (uint32_t i = 0; i < *options.sampledTexts; ++i) {
    Request request = sampledRequest(model, i, window);
    texts.push_back({strCat("sampled text ", i), request.prompt});
    MTP_ASSIGN_OR_RETURN(SequenceId id, session.add(std::move(request)));
    numbers[id] = i;
  }
  while (!session.idle()) {
    MTP_ASSIGN_OR_RETURN(std::vector<SequenceUpdate> updates, session.step());
    for (const SequenceUpdate &update : updates) {
      MTP_RETURN_IF_ERROR(update.error);
      std::vector<int32_t> &ids = texts[numbers.at(update.id)].ids;
      ids.insert(ids.end(), update.tokens.begin(), update.tokens.end());
    }
  }
  return texts;
}

/// Returns the texts whose activations are collected.
static Result<std::vector<Prompt>>
readTexts(const Session &session, const RunOptions &options, size_t window) {
  const Model &model = *session.model();
  if (options.sampledTexts) {
    MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> writer,
                         Session::create(session.model(), options.session));
    return sampleTexts(*writer, options, window);
  }
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  return readPrompts(options, model, tokenizer.get());
}

/// Adds the tokens of one window.
static Status addWindow(Session &session, std::span<const int32_t> tokens,
                        size_t rows, SecondMoments &moments,
                        RowProgress &progress) {
  for (size_t begin = 0; begin < tokens.size(); begin += rows) {
    size_t count = std::min(rows, tokens.size() - begin);
    MTP_ASSIGN_OR_RETURN(
        std::vector<Tensor> outputs,
        session.runFunction(kProjectionInputs,
                            rowInputs(tokens, begin, count, rows)));
    std::vector<std::span<const float>> values;
    for (const Tensor &output : outputs)
      values.emplace_back(reinterpret_cast<const float *>(output.bytes.data()),
                          output.bytes.size() / sizeof(float));
    moments.add(values, count);
    progress.add(count);
  }
  return okStatus();
}

Status mtp::collectActivations(Session &session, const RunOptions &options) {
  const Model &model = *session.model();
  size_t rows = rowsOfFunction(model, kProjectionInputs);
  if (!model.envelope() || rows == 0)
    return failedPrecondition(
        "--collect-activations: expected an artifact of mtpc --collect-inputs");
  MTP_ASSIGN_OR_RETURN(size_t window, windowOf(options, model));
  if (options.sampledTexts && !options.window)
    window = std::min(window, kSampledTokens);
  MTP_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                       readTexts(session, options, window));
  MTP_ASSIGN_OR_RETURN(
      std::unique_ptr<OutputFile> file,
      OutputFile::create(options.activations, options.artifact));
  SecondMoments moments(session.options().threads);
  MTP_RETURN_IF_ERROR(addKinds(model, rows, moments));
  {
    RowProgress progress("collected", prompts);
    for (size_t i = 0; i < prompts.size(); ++i) {
      std::span<const int32_t> ids = prompts[i].ids;
      MTP_RETURN_IF_ERROR(checkIds(ids, model.envelope()->vocab)
                              .withContext(strCat("prompt ", i)));
      for (size_t begin = 0; begin < ids.size(); begin += window)
        MTP_RETURN_IF_ERROR(addWindow(
            session, ids.subspan(begin, std::min(window, ids.size() - begin)),
            rows, moments, progress));
    }
  }
  return file->commit(moments.file());
}
