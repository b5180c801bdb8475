//===- TextPipeline.cpp - Normalizes and divides text ---------------------===//

#include "runtime/tokenizer/TextPipeline.h"

#include "runtime/schema/mtp_tokenizer_generated.h"
#include "runtime/tokenizer/ByteAlphabet.h"
#include "runtime/tokenizer/Split.h"
#include "runtime/utf8/UnicodeForms.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;
using schema::TextStepKind;

namespace {

constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxStepTextBytes = 1024;

// The largest growth of a sane step is NFKC's: 11 bytes for one. Without a
// limit a few replacements could make gigabytes from a line.
constexpr size_t kMaxGrowth = 32;
constexpr size_t kGrowthAllowance = 1 << 16;

std::string_view viewOf(const flatbuffers::String *string) {
  return string ? std::string_view(string->c_str(), string->size())
                : std::string_view();
}

std::string_view viewOf(const PieceList &list, TextSpan span) {
  return std::string_view(list.text).substr(span.begin, span.end - span.begin);
}

/// Rebuilds the list by calling `rewrite(piece, isFirst, out)` on every piece.
template <typename Function>
Status rewritePieces(PieceList &list, size_t maxBytes, Function rewrite) {
  PieceList out;
  out.text.reserve(list.text.size());
  out.pieces.reserve(list.pieces.size());
  for (size_t i = 0; i < list.pieces.size(); ++i) {
    size_t begin = out.text.size();
    MTP_RETURN_IF_ERROR(rewrite(list.pieces[i], i == 0, out.text));
    if (out.text.size() > maxBytes)
      return resourceExhausted("expected a text step to yield at most " +
                               std::to_string(maxBytes) + " bytes, got more");
    if (begin != out.text.size())
      out.pieces.push_back({begin, out.text.size()});
  }
  list = std::move(out);
  return okStatus();
}

/// Converts pieces of byte characters back to bytes.
Status restoreBytes(PieceList &list, size_t maxBytes) {
  return rewritePieces(
      list, maxBytes, [&](TextSpan piece, bool, std::string &out) -> Status {
        std::optional<std::string> bytes = bytesOfPiece(viewOf(list, piece));
        if (!bytes)
          return internalError("expected characters of bytes");
        out.append(*bytes);
        return okStatus();
      });
}

Status splitPieces(PieceList &list, const Regex &pattern,
                   schema::SplitBehavior behavior, bool invert,
                   MatchScratch &scratch) {
  std::vector<TextSpan> pieces, matches;
  for (TextSpan piece : list.pieces) {
    MTP_RETURN_IF_ERROR(pattern.findAll(list.text, piece, scratch, matches));
    splitAt(piece, matches, behavior, invert, pieces);
  }
  list.pieces = std::move(pieces);
  return okStatus();
}

UnicodeForm formOf(TextStepKind kind) {
  switch (kind) {
  case TextStepKind::Nfd:
    return UnicodeForm::Nfd;
  case TextStepKind::Nfkc:
    return UnicodeForm::Nfkc;
  case TextStepKind::Nfkd:
    return UnicodeForm::Nfkd;
  default:
    return UnicodeForm::Nfc;
  }
}

/// Applies a step that depends only on the text of a piece.
Status appendMapped(TextStepKind kind, std::string_view text,
                    std::string &out) {
  if (kind == TextStepKind::Lowercase)
    appendLowercase(text, out);
  else if (kind == TextStepKind::ByteCharacters)
    appendCharactersOfBytes(text, out);
  else
    return appendNormalized(text, formOf(kind), out);
  return okStatus();
}

} // namespace

Result<TextPipeline> TextPipeline::create(const StepTables &tables) {
  if (tables.size() > kMaxSteps)
    return outOfRange("expected at most " + std::to_string(kMaxSteps) +
                      " steps, got " + std::to_string(tables.size()));
  TextPipeline pipeline;
  for (size_t i = 0; i < tables.size(); ++i) {
    Result<Step> step = createStep(*tables[i]);
    if (!step.isOk())
      return step.status().withContext("step " + std::to_string(i));
    if (pipeline.yieldsBytes && step->kind != TextStepKind::Split)
      return invalidArgument("expected steps that split after the one for "
                             "characters of bytes, got another at step " +
                             std::to_string(i));
    pipeline.yieldsBytes |= step->kind == TextStepKind::ByteCharacters;
    pipeline.steps.push_back(std::move(*step));
  }
  return pipeline;
}

Result<TextPipeline::Step>
TextPipeline::createStep(const schema::TextStep &table) {
  if (table.kind() > TextStepKind::MAX)
    return outOfRange("expected a known kind, got " +
                      std::to_string(static_cast<int>(table.kind())));
  if (table.behavior() > schema::SplitBehavior::MAX)
    return outOfRange("expected a known behavior, got " +
                      std::to_string(static_cast<int>(table.behavior())));
  Step step;
  step.kind = table.kind();
  step.behavior = table.behavior();
  step.invert = table.invert();
  step.unlessPresent = table.unless_present();
  step.onlyAtStart = table.only_at_start();
  step.text = viewOf(table.text());
  if (step.text.size() > kMaxStepTextBytes || !isValidUtf8(step.text))
    return invalidArgument("expected at most " +
                           std::to_string(kMaxStepTextBytes) +
                           " bytes of UTF-8 as text");
  if (step.kind == TextStepKind::Split || step.kind == TextStepKind::Replace) {
    // The tables contain a pattern as text.
    MTP_ASSIGN_OR_RETURN(step.pattern, Regex::compile(viewOf(table.pattern())));
  }
  return step;
}

Status TextPipeline::apply(PieceList &list, bool atStart,
                           MatchScratch &scratch) const {
  size_t maxBytes = kMaxGrowth * list.text.size() + kGrowthAllowance;
  for (const Step &step : steps)
    MTP_RETURN_IF_ERROR(applyStep(step, list, atStart, maxBytes, scratch));
  return yieldsBytes ? restoreBytes(list, maxBytes) : okStatus();
}

Status TextPipeline::applyStep(const Step &step, PieceList &list, bool atStart,
                               size_t maxBytes, MatchScratch &scratch) {
  switch (step.kind) {
  case TextStepKind::Split:
    return splitPieces(list, *step.pattern, step.behavior, step.invert,
                       scratch);

  case TextStepKind::Prepend:
    return rewritePieces(
        list, maxBytes, [&](TextSpan piece, bool isFirst, std::string &out) {
          std::string_view text = viewOf(list, piece);
          bool isPresent = text.substr(0, step.text.size()) == step.text;
          bool isStart = isFirst && atStart && piece.begin == 0;
          if (!(step.unlessPresent && isPresent) &&
              !(step.onlyAtStart && !isStart))
            out.append(step.text);
          out.append(text);
          return okStatus();
        });

  case TextStepKind::Replace: {
    std::vector<TextSpan> matches;
    return rewritePieces(
        list, maxBytes, [&](TextSpan piece, bool, std::string &out) -> Status {
          MTP_RETURN_IF_ERROR(
              step.pattern->findAll(list.text, piece, scratch, matches));
          size_t pos = piece.begin;
          for (TextSpan match : matches) {
            out.append(viewOf(list, {pos, match.begin})).append(step.text);
            pos = match.end;
          }
          out.append(viewOf(list, {pos, piece.end}));
          return okStatus();
        });
  }

  default:
    return rewritePieces(
        list, maxBytes, [&](TextSpan piece, bool, std::string &out) {
          return appendMapped(step.kind, viewOf(list, piece), out);
        });
  }
}
