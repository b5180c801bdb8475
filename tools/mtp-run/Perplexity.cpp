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

using namespace mtp;

SessionOptions mtp::scoringOptions(SessionOptions options) {
  // Drafts do not change the target's logits.
  options.k = 0;
  options.logits = LogitsMode::Last;
  return options;
}

namespace {
/// Sums over scored tokens.
struct TextScore {
  /// The sum of -ln of the model's probabilities of the tokens.
  double loss = 0;
  /// The loss of the reference, and the sum of the divergences from it.
  double referenceLoss = 0, divergence = 0;
  uint64_t tokens = 0;
};
} // namespace

/// Returns ln of the sum of the exponentials.
static double logSum(std::span<const float> logits) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return largest + std::log(sum);
}

/// Returns the Kullback-Leibler divergence of the model's distribution from the
/// reference's: the mean of ln(reference / model) over the reference.
static double divergenceOf(std::span<const float> logits, double sum,
                           std::span<const float> reference,
                           double referenceSum) {
  double divergence = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    double log = double(reference[i]) - referenceSum;
    divergence += std::exp(log) * (log - (double(logits[i]) - sum));
  }
  return divergence;
}

/// Adds the score of a row of logits that precedes `token`. `reference` is
/// empty if there is none.
static void addRow(std::span<const float> logits,
                   std::span<const float> reference, int32_t token,
                   TextScore &score) {
  double sum = logSum(logits);
  score.loss += sum - double(logits[size_t(token)]);
  ++score.tokens;
  if (reference.empty())
    return;
  double referenceSum = logSum(reference);
  score.referenceLoss += referenceSum - double(reference[size_t(token)]);
  score.divergence += divergenceOf(logits, sum, reference, referenceSum);
}

//===----------------------------------------------------------------------===//
// Logits of given tokens
//===----------------------------------------------------------------------===//

static constexpr std::string_view kPromptLogits = "prompt_logits";

/// Returns the rows of the function; zero if there is none.
static size_t scoredRows(const Model &model) {
  size_t rows = rowsOfFunction(model, kPromptLogits);
  auto outputs = model.functionOutputs(kPromptLogits);
  if (rows == 0 || outputs->size() != 1)
    return 0;
  TensorType logits{ElementType::F32, {rows, model.envelope()->vocab}};
  return outputs->front().type == logits ? rows : 0;
}

/// Returns the logits after `prompt`, from a request of one token.
static Result<std::vector<float>> logitsAfter(Session &session,
                                              std::span<const int32_t> prompt) {
  Request request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.maxTokens = 1;
  // An end token has logits like any other.
  request.ignoreEos = true;
  MTP_ASSIGN_OR_RETURN(SequenceId id, session.add(std::move(request)));
  while (!session.idle()) {
    MTP_ASSIGN_OR_RETURN(std::vector<SequenceUpdate> updates, session.step());
    for (const SequenceUpdate &update : updates)
      MTP_RETURN_IF_ERROR(update.error);
  }
  MTP_ASSIGN_OR_RETURN(std::span<const float> logits, session.logits(id, 0));
  std::vector<float> row(logits.begin(), logits.end());
  MTP_RETURN_IF_ERROR(session.release(id));
  return row;
}

/// Returns the logits after each of `count` tokens from `begin` on. `rows` is
/// the number of rows of the session's function.
static Result<std::vector<float>> logitsOf(Session &session,
                                           std::span<const int32_t> tokens,
                                           size_t begin, size_t count,
                                           size_t rows) {
  if (rows == 0)
    return logitsAfter(session, tokens.first(begin + 1));
  MTP_ASSIGN_OR_RETURN(
      std::vector<Tensor> outputs,
      session.runFunction(kPromptLogits,
                          rowInputs(tokens, begin, count, rows)));
  size_t vocab = session.model()->envelope()->vocab;
  std::vector<float> logits(count * vocab);
  std::memcpy(logits.data(), outputs[0].bytes.data(),
              logits.size() * sizeof(float));
  return logits;
}

namespace {
/// A model that scores texts, and the model that it is compared with.
class Scorer {
public:
  Scorer(Session &session, Session *reference)
      : session(session), reference(reference),
        vocab(session.model()->envelope()->vocab) {
    rows = scoredRows(*session.model());
    if (reference && scoredRows(*reference->model()) != rows)
      rows = 0;
  }

  /// Scores `ids` in independent windows.
  Status scoreWindows(std::span<const int32_t> ids, size_t window,
                      RowProgress &progress, TextScore &score) {
    for (size_t begin = 0; begin < ids.size(); begin += window)
      MTP_RETURN_IF_ERROR(
          scoreText(ids.subspan(begin, std::min(window, ids.size() - begin)),
                    progress, score));
    return okStatus();
  }

private:
  Status scoreText(std::span<const int32_t> tokens, RowProgress &progress,
                   TextScore &score) {
    size_t together = std::max<size_t>(rows, 1);
    for (size_t begin = 0; begin + 1 < tokens.size(); begin += together) {
      size_t count = std::min(together, tokens.size() - 1 - begin);
      MTP_RETURN_IF_ERROR(scoreRows(tokens, begin, count, score));
      progress.add(count);
    }
    return okStatus();
  }

  Status scoreRows(std::span<const int32_t> tokens, size_t begin, size_t count,
                   TextScore &score) {
    MTP_ASSIGN_OR_RETURN(std::vector<float> logits,
                         logitsOf(session, tokens, begin, count, rows));
    std::vector<float> expected;
    if (reference) {
      MTP_ASSIGN_OR_RETURN(expected,
                           logitsOf(*reference, tokens, begin, count, rows));
    }
    for (size_t i = 0; i < count; ++i) {
      std::span<const float> row;
      if (reference)
        row = std::span(expected).subspan(i * vocab, vocab);
      addRow(std::span(logits).subspan(i * vocab, vocab), row,
             tokens[begin + i + 1], score);
    }
    return okStatus();
  }

  Session &session;
  Session *reference;
  size_t vocab;
  /// Rows of the function for logits; zero: requests of one token.
  size_t rows;
};
} // namespace

/// Opens the artifact of --reference. Its vocabulary must have the size of the
/// model's.
static Result<std::unique_ptr<Session>> openReference(const RunOptions &options,
                                                      uint32_t vocab) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.reference, options.load));
  if (!model->envelope() || model->envelope()->vocab != vocab)
    return invalidArgument(
        strCat("expected --reference with a vocabulary of ", vocab, ", got ",
               model->envelope() ? strCat(model->envelope()->vocab)
                                 : "functions only"));
  return Session::create(model, scoringOptions(options.session));
}

static Status printScore(const TextScore &score, const RunOptions &options) {
  double tokens = double(score.tokens), loss = score.loss / tokens;
  double divergence = score.divergence / tokens;
  double ratio = std::exp(loss - score.referenceLoss / tokens);
  bool compares = !options.reference.empty();
  if (options.json) {
    JsonWriter json;
    json.beginObject();
    json.field("tokens", score.tokens);
    json.field("loss", loss);
    json.field("perplexity", std::exp(loss));
    if (compares) {
      json.field("perplexity_ratio", ratio);
      json.field("divergence", divergence);
      json.field("exp_divergence", std::exp(divergence));
    }
    json.endObject();
    return writeStandardOutput(json.text() + "\n", "the JSON");
  }
  char line[128];
  std::snprintf(
      line, sizeof(line), "perplexity %.4f (%.5f nats a token, %llu tokens)\n",
      std::exp(loss), loss, static_cast<unsigned long long>(score.tokens));
  std::string text = line;
  if (compares) {
    std::snprintf(line, sizeof(line),
                  "over the reference: perplexity x %.4f, divergence %.5f nats "
                  "a token (exp %.4f)\n",
                  ratio, divergence, std::exp(divergence));
    text += line;
  }
  return writeStandardOutput(text, "the perplexity");
}

Status mtp::printPerplexity(Session &session, const RunOptions &options) {
  const Model &model = *session.model();
  if (!model.envelope())
    return failedPrecondition("--perplexity: the artifact has functions only");
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(model));
  MTP_ASSIGN_OR_RETURN(std::vector<Prompt> prompts,
                       readPrompts(options, model, tokenizer.get()));
  MTP_ASSIGN_OR_RETURN(size_t window, windowOf(options, model));
  std::unique_ptr<Session> reference;
  if (!options.reference.empty()) {
    MTP_ASSIGN_OR_RETURN(reference,
                         openReference(options, model.envelope()->vocab));
    if (window > reference->model()->envelope()->maxContext)
      return invalidArgument(strCat("expected --window of at most ",
                                    reference->model()->envelope()->maxContext,
                                    " (the context of --reference), got ",
                                    window));
  }
  RowProgress progress("scored", prompts);
  Scorer scorer(session, reference.get());
  TextScore all;
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::span<const int32_t> ids = prompts[i].ids;
    Status status = checkIds(ids, model.envelope()->vocab);
    if (status.isOk())
      status = scorer.scoreWindows(ids, window, progress, all);
    if (!status.isOk())
      return status.withContext(strCat("prompt ", i));
  }
  if (all.tokens == 0)
    return invalidArgument(
        "--perplexity: expected a text of at least 2 tokens");
  return printScore(all, options);
}
