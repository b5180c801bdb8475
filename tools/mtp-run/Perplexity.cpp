//===- Perplexity.cpp - Perplexity of given text --------------------------===//

#include "tools/mtp-run/Perplexity.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace mtp;

SessionOptions mtp::scoringOptions(SessionOptions options) {
  // Drafts do not change the target's logits.
  options.k = 0;
  options.logits = LogitsMode::Last;
  return options;
}

namespace {
/// Shows the progress on a terminal.
class ScoreProgress {
public:
  explicit ScoreProgress(size_t total)
      : total(total), enabled(::isatty(STDERR_FILENO)) {}
  ~ScoreProgress() {
    if (enabled)
      std::fputs("\r\033[K", stderr);
  }
  void add(size_t tokens) {
    done += tokens;
    if (enabled)
      std::fprintf(stderr, "\rscored %zu of %zu tokens", done, total);
  }

private:
  size_t done = 0, total;
  bool enabled;
};

/// Sums over scored tokens.
struct TextScore {
  /// The sum of -ln of the model's probabilities of the tokens.
  double loss = 0;
  uint64_t tokens = 0;
};
} // namespace

static double lossOf(std::span<const float> logits, int32_t token) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return largest + std::log(sum) - double(logits[size_t(token)]);
}

//===----------------------------------------------------------------------===//
// With the function for logits of many rows
//===----------------------------------------------------------------------===//

static constexpr std::string_view kPromptLogits = "prompt_logits";

/// Returns the rows of the function; zero if there is none.
static size_t scoredRows(const Model &model) {
  auto inputs = model.functionInputs(kPromptLogits);
  auto outputs = model.functionOutputs(kPromptLogits);
  if (!inputs || !outputs || inputs->size() != 3 || outputs->size() != 1)
    return 0;
  const TensorType &type = inputs->front().type;
  if (type.element != ElementType::I32 || type.shape.size() != 1)
    return 0;
  for (const PortType &port : *inputs)
    if (port.type != type)
      return 0;
  TensorType logits{ElementType::F32, {type.shape[0], model.envelope()->vocab}};
  return outputs->front().type == logits ? type.shape[0] : 0;
}

static Tensor column(const std::vector<int32_t> &values) {
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return {{ElementType::I32, {values.size()}},
          {bytes, bytes + values.size() * sizeof(int32_t)}};
}

/// Adds the losses of the tokens after each of `count` rows from `begin` on.
static Status scoreRows(Session &session, std::span<const int32_t> tokens,
                        size_t begin, size_t count, size_t rows,
                        TextScore &score) {
  std::vector<int32_t> ids(rows, 0), slots(rows, 0), positions(rows, -1);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = tokens[begin + i];
    positions[i] = int32_t(begin + i);
  }
  const Tensor inputs[] = {column(ids), column(slots), column(positions)};
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                       session.runFunction(kPromptLogits, inputs));
  size_t vocab = session.model()->envelope()->vocab;
  std::vector<float> row(vocab);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(row.data(), outputs[0].bytes.data() + i * vocab * sizeof(float),
                vocab * sizeof(float));
    score.loss += lossOf(row, tokens[begin + i + 1]);
    ++score.tokens;
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// With requests of one token
//===----------------------------------------------------------------------===//

/// Returns the loss of `token` after `prompt`.
static Result<double> scoreNext(Session &session, Request request,
                                int32_t token) {
  MTP_ASSIGN_OR_RETURN(SequenceId id, session.add(std::move(request)));
  while (!session.idle()) {
    MTP_ASSIGN_OR_RETURN(std::vector<SequenceUpdate> updates, session.step());
    for (const SequenceUpdate &update : updates)
      MTP_RETURN_IF_ERROR(update.error);
  }
  MTP_ASSIGN_OR_RETURN(std::span<const float> logits, session.logits(id, 0));
  double loss = lossOf(logits, token);
  MTP_RETURN_IF_ERROR(session.release(id));
  return loss;
}

static Result<TextScore> scoreByRequests(Session &session,
                                         std::span<const int32_t> tokens,
                                         ScoreProgress &progress) {
  TextScore score;
  for (size_t i = 1; i < tokens.size(); ++i) {
    Request request;
    request.prompt.assign(tokens.begin(), tokens.begin() + ptrdiff_t(i));
    request.maxTokens = 1;
    // An end token has logits like any other.
    request.ignoreEos = true;
    MTP_ASSIGN_OR_RETURN(double loss,
                         scoreNext(session, std::move(request), tokens[i]));
    score.loss += loss;
    ++score.tokens;
    progress.add(1);
  }
  return score;
}

static Result<TextScore> scoreText(Session &session,
                                   std::span<const int32_t> tokens,
                                   ScoreProgress &progress) {
  size_t rows = scoredRows(*session.model());
  if (rows == 0)
    return scoreByRequests(session, tokens, progress);
  TextScore score;
  for (size_t begin = 0; begin + 1 < tokens.size(); begin += rows) {
    size_t count = std::min(rows, tokens.size() - 1 - begin);
    MTP_RETURN_IF_ERROR(scoreRows(session, tokens, begin, count, rows, score));
    progress.add(count);
  }
  return score;
}

/// Scores `ids` in independent windows.
static Result<TextScore> scoreWindows(Session &session,
                                      std::span<const int32_t> ids,
                                      size_t window, ScoreProgress &progress) {
  TextScore all;
  for (size_t begin = 0; begin < ids.size(); begin += window) {
    auto part = ids.subspan(begin, std::min(window, ids.size() - begin));
    MTP_ASSIGN_OR_RETURN(TextScore score, scoreText(session, part, progress));
    all.loss += score.loss;
    all.tokens += score.tokens;
  }
  return all;
}

/// Checks that every id is a row of the logits.
static Status checkIds(std::span<const int32_t> ids, uint32_t vocab) {
  for (int32_t id : ids)
    if (id < 0 || uint32_t(id) >= vocab)
      return invalidArgument(
          strCat("expected token ids of 0 to ", vocab - 1, ", got ", id));
  return okStatus();
}

Status mtp::printPerplexity(Session &session, const RunOptions &options) {
  const Model &model = *session.model();
  if (!model.envelope())
    return failedPrecondition("--perplexity: the artifact has functions only");
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  MTP_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                       readPrompts(options, model, tokenizer.get()));
  uint32_t context = model.envelope()->maxContext;
  size_t window = options.window.value_or(context);
  if (window < 2 || window > context)
    return invalidArgument(strCat("expected --window of 2 to ", context,
                                  " (the envelope's context), got ", window));
  size_t total = 0;
  for (const Prompt &prompt : prompts)
    total += prompt.ids.size();
  ScoreProgress progress(total);
  TextScore all;
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::span<const int32_t> ids = prompts[i].ids;
    Status valid = checkIds(ids, model.envelope()->vocab);
    auto score = valid.isOk() ? scoreWindows(session, ids, window, progress)
                              : Result<TextScore>(valid);
    if (!score)
      return score.status().withContext(strCat("prompt ", i));
    all.loss += score->loss;
    all.tokens += score->tokens;
  }
  if (all.tokens == 0)
    return invalidArgument(
        "--perplexity: expected a text of at least 2 tokens");
  double loss = all.loss / double(all.tokens);
  if (options.json) {
    JsonWriter json;
    json.beginObject();
    json.field("tokens", all.tokens);
    json.field("loss", loss);
    json.field("perplexity", std::exp(loss));
    json.endObject();
    return writeStandardOutput(json.text() + "\n", "the JSON");
  }
  char line[128];
  std::snprintf(
      line, sizeof(line), "perplexity %.4f (%.5f nats a token, %llu tokens)\n",
      std::exp(loss), loss, static_cast<unsigned long long>(all.tokens));
  return writeStandardOutput(line, "the perplexity");
}
