//===- Perplexity.cpp - How well a model predicts given text --------------===//

#include "tools/mtp-run/Perplexity.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/support/Json.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;

SessionOptions mtp::scoringOptions(SessionOptions options) {
  // Drafts do not change what the target says.
  options.k = 0;
  options.logits = LogitsMode::Last;
  return options;
}

static double lossOf(std::span<const float> logits, int32_t token) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return largest + std::log(sum) - double(logits[size_t(token)]);
}

/// The loss of `token` behind `prompt`.
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

Result<TextScore> mtp::scoreText(Session &session,
                                 std::span<const int32_t> tokens) {
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
  }
  return score;
}

/// Scores `ids` in windows that know nothing of one another.
static Result<TextScore>
scoreWindows(Session &session, std::span<const int32_t> ids, size_t window) {
  TextScore all;
  for (size_t begin = 0; begin < ids.size(); begin += window) {
    auto part = ids.subspan(begin, std::min(window, ids.size() - begin));
    MTP_ASSIGN_OR_RETURN(TextScore score, scoreText(session, part));
    all.loss += score.loss;
    all.tokens += score.tokens;
  }
  return all;
}

/// Fails unless every id names a row of the logits.
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
  TextScore all;
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::span<const int32_t> ids = prompts[i].ids;
    Status valid = checkIds(ids, model.envelope()->vocab);
    auto score = valid.isOk() ? scoreWindows(session, ids, window)
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
