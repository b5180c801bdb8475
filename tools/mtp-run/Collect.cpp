//===- Collect.cpp - Statistics of activations ----------------------------===//

#include "tools/mtp-run/Collect.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/mtp-run/SecondMoments.h"
#include "tools/support/Output.h"

#include <algorithm>

using namespace mtp;

static constexpr std::string_view kProjectionInputs = "projection_inputs";

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
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  MTP_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                       readPrompts(options, model, tokenizer.get()));
  MTP_ASSIGN_OR_RETURN(size_t window, windowOf(options, model));
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
