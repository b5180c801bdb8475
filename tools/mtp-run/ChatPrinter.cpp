//===- ChatPrinter.cpp - Print an answer as it arrives --------------------===//

#include "tools/mtp-run/ChatPrinter.h"

#include "tools/support/Output.h"

using namespace mtp;

static constexpr const char *kReset = "\033[0m";
/// Escape sequences by ChatPrinter::Style.
static constexpr const char *kStyles[] = {"", "\033[2m", "\033[32m",
                                          "\033[2;32m"};

std::string ChatPrinter::inStyle(Style style, std::string_view text) {
  std::string out;
  if (style != current)
    out += (current == Style::Plain ? "" : kReset) +
           std::string(kStyles[size_t(style)]);
  current = style;
  return out += text;
}

Status ChatPrinter::print(AnswerPart part, bool isDraft) {
  if (calls)
    part.content = calls->append(part.content);
  return show(part, isDraft);
}

Status ChatPrinter::show(const AnswerPart &part, bool isDraft) {
  bool isGreen = isDraft && look.showsDrafts;
  std::string out;
  if (!part.reasoning.empty()) {
    if (all.reasoning.empty() && !look.isTerminal)
      out += "[reasoning]\n";
    Style style = look.isTerminal ? Style::Reasoning : Style::Plain;
    if (isGreen)
      style = look.isTerminal ? Style::DraftReasoning : Style::Draft;
    out += inStyle(style, part.reasoning);
  }
  if (!part.content.empty()) {
    if (all.content.empty() && !(all.reasoning + part.reasoning).empty())
      out += look.isTerminal ? inStyle(Style::Plain, "\n\n") : "\n[answer]\n";
    out += inStyle(isGreen ? Style::Draft : Style::Plain, part.content);
  }
  all.reasoning += part.reasoning;
  all.content += part.content;
  return out.empty() ? okStatus() : writeStandardOutput(out, "the answer");
}

Status ChatPrinter::append(TokenId token, bool isDraft) {
  MTP_ASSIGN_OR_RETURN(std::string text, decoder.append(token));
  if (tokenizer.isSpecial(token)) {
    MTP_ASSIGN_OR_RETURN(std::string_view piece, tokenizer.tokenToPiece(token));
    if (calls && !splitter.isMark(piece) && calls->isMark(piece))
      return print(splitter.append(piece), isDraft);
    return print(splitter.appendSpecial(piece), isDraft);
  }
  return print(splitter.append(text), isDraft);
}

Status ChatPrinter::finish() {
  MTP_RETURN_IF_ERROR(print(splitter.append(decoder.finish()), false));
  MTP_RETURN_IF_ERROR(print(splitter.finish(), false));
  if (calls)
    MTP_RETURN_IF_ERROR(show({"", calls->finish()}, false));
  std::string end = inStyle(Style::Plain, "\n");
  return writeStandardOutput(end, "the answer");
}
