//===- TextReport.cpp - Results as tables ---------------------------------===//

#include "tools/mtp-bench/report/Reports.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

namespace {
class Text {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    out += line;
  }
  std::string out;
};
} // namespace

static double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// Returns "-" if the value was not measured.
static std::string orDash(double value, const char *format) {
  if (std::isnan(value))
    return "-";
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

static void addMachine(Text &text, const Results &r, const Options &o) {
  text.add("%s (%s), %u processors, %u threads%s, %s\n", r.processor.c_str(),
           r.features.c_str(), r.processors, r.threads,
           r.pinned ? ", pinned" : "", r.date.c_str());
  text.add("%s: %s; %s, %.1f MB of weights\n", r.model.c_str(),
           r.formats.c_str(), r.producer.c_str(),
           double(r.fileWeightBytes) * 1e-6);
  if (o.estimate == Estimate::Fastest)
    text.add("of %u turns the fastest run\n\n", o.turns);
  else
    text.add("of each turn the median run, of %u turns the median\n\n",
             o.turns);
  const Rates &before = r.machine.front().best(o.estimate);
  const Rates &after = r.machine.back().best(o.estimate);
  text.add("machine              before   %7s     after\n", nameOf(o.estimate));
  text.add("read, GB/s         %8.1f  %8.1f  %8.1f  (%.0f MB)\n",
           before.bytes * 1e-9, r.rates.bytes * 1e-9, after.bytes * 1e-9,
           double(r.bufferBytes) * 1e-6);
  const char *names[] = {"f32, Gop/s", "bf16, Gop/s", "int8, Gop/s",
                         "int4, Gop/s"};
  for (size_t i = 0; i < kArithmetics; ++i)
    if (r.rates.ops[i] > 0)
      text.add("%-17s  %8.0f  %8.0f  %8.0f\n", names[i], before.ops[i] * 1e-9,
               r.rates.ops[i] * 1e-9, after.ops[i] * 1e-9);
  if (r.isNoisy)
    text.add("TOO NOISY TO TELL: the machine's limits differed by more than "
             "10 %% within this\nrun. Ratios measured in turns may "
             "hold, times and limits do not.\n");
}

static void addDecode(Text &text, const Results &r, const Options &o) {
  text.add("\ndecode, plain steps\n"
           " batch  context      ms  (quartiles)         tokens/s   GB/s  "
           "of limit\n");
  for (uint32_t context : o.contexts)
    for (uint32_t batch : o.batches) {
      const Point *point = r.find(batch, 0, context);
      if (!point)
        continue;
      double seconds = estimateSeconds(point->seconds, o.estimate);
      Summary s = summarize(point->seconds);
      text.add("%6u %8u %7.3f  (%.3f to %.3f) %14.1f %6.1f %7.1f %%\n", batch,
               context, seconds * 1e3, s.lower * 1e3, s.upper * 1e3,
               batch / seconds, point->bytes(false) / seconds * 1e-9,
               percent(point->limit(r.rates, false), seconds));
    }
}

static void addRows(Text &text, const Results &r, const Options &o) {
  text.add("\nrows, the target's pass alone, context %u\n"
           "  rows  batch   k      ms  over 1 row   GB/s  Gop/s  of limit\n",
           o.contexts[0]);
  const Point *one = r.find(1, 0, o.contexts[0]);
  for (const Point *point : rowPoints(r, o)) {
    double seconds = estimateSeconds(point->targetSeconds, o.estimate);
    double ratio =
        one ? ratioOf(point->targetSeconds, one->targetSeconds, o.estimate)
            : std::nan("");
    uint32_t rows = point->rows();
    text.add("%6u %6u %3u %7.3f %11s %6.1f %6.0f %7.1f %%", rows, point->batch,
             point->k, seconds * 1e3, orDash(ratio, "%.2f").c_str(),
             point->bytes(true) / seconds * 1e-9,
             point->ops(true) / seconds * 1e-9,
             percent(point->limit(r.rates, true), seconds));
    if (point->activeRows < rows)
      text.add("  (%.1f active rows)", point->activeRows);
    text.add("\n");
  }
}

static void addPrefill(Text &text, const Results &r, const Options &o) {
  text.add("\nprefill, %s", r.prefillKernels.c_str());
  if (o.prefillBehind)
    text.add(", after %u tokens", o.prefillBehind);
  text.add("\n tokens  drafter       ms    tokens/s\n");
  for (const PrefillResult &p : r.prefills) {
    double seconds = estimateSeconds(p.seconds, o.estimate);
    text.add("%7u  %7s %8.2f %11.1f\n", p.tokens, p.modules ? "yes" : "no",
             seconds * 1e3, p.tokens / seconds);
  }
  if (!r.snapshotSeconds.empty())
    text.add("a copy of the states of recurrent layers: %.1f MB in %.2f ms\n",
             double(r.snapshotBytes) / 1e6,
             estimateSeconds(r.snapshotSeconds, o.estimate) * 1e3);
}

static void addSpeculative(Text &text, const Results &r, const Options &o) {
  text.add("\nspeculative, %s\n",
           !o.ids.empty()         ? "acceptance of the given prompt"
           : o.acceptance.empty() ? "drafting pays where AL exceeds R"
                                  : "simulated acceptance");
  text.add(" batch  context   k  ms/round  (quartiles)            R  at limit "
           "    AL   tokens/s  over k=0\n");
  for (const SpeculativeResult &s : r.speculative) {
    text.add("%6u %8u %3u %9.3f  (%.3f to %.3f) %8.2f %9s %6s %10s %9s",
             s.batch, s.context, s.k, s.seconds * 1e3, s.spread.lower * 1e3,
             s.spread.upper * 1e3, s.ratio,
             orDash(s.limitRatio, "%.2f").c_str(),
             orDash(s.acceptanceLength, "%.2f").c_str(),
             orDash(s.tokensPerSecond, "%.1f").c_str(),
             orDash(s.speedup, "%.2fx").c_str());
    for (double share : s.accepted)
      text.add("  %.0f %%", 100 * share);
    text.add("\n");
  }
  bool hasDrafts = std::any_of(r.speculative.begin(), r.speculative.end(),
                               [](const auto &s) { return s.k > 0; });
  if (o.ids.empty() && o.acceptance.empty() && hasDrafts)
    text.add("AL, tokens/s and over k=0 of rounds with drafts need "
             "--acceptance=A1,A2,.. (shares of\nrounds that accept draft 1, 2, "
             "..) or --ids=N,.. (a prompt).\n");
}

static void addSessions(Text &text, const Results &r) {
  text.add("\nsessions, each k and an automatic k, by wall clock\n"
           "batch     k  tokens/s  (quartiles)           of best  rounds of "
           "k = 0, 1, ..\n");
  for (const SessionResult &s : r.sessions) {
    double best = 0;
    for (const SessionResult &other : r.sessions)
      if (other.batch == s.batch && !other.isAutomatic)
        best = std::max(best, summarize(other.tokensPerSecond).median);
    Summary of = summarize(s.tokensPerSecond);
    std::string k = s.isAutomatic ? "auto" : std::to_string(s.k);
    text.add("%5u %5s %9.1f  (%.1f to %.1f) %12.3f ", s.batch, k.c_str(),
             of.median, of.lower, of.upper, of.median / best);
    for (uint64_t rounds : s.rounds)
      text.add(" %llu", (unsigned long long)rounds);
    text.add("\n");
  }
}

static void addGroups(Text &text, const char *title,
                      const std::vector<Group> &groups, double whole) {
  text.add(" %-16s commands        ms   share    waiting   GB/s  of limit\n",
           title);
  for (const Group &g : groups)
    text.add(" %-16s %8u %9.4f %6.1f %% %8.1f %% %6.1f %7.1f %%\n",
             g.name.c_str(), g.commands, g.wall * 1e3, percent(g.wall, whole),
             percent(g.wait, g.busy + g.wait), g.bytes / g.wall * 1e-9,
             percent(g.limit, g.wall));
}

static void addRound(Text &text, const Results &r, const Options &o) {
  const Point &point = profiledPoint(r, o);
  double whole = 0;
  for (const CommandResult &command : point.commands)
    whole += command.wall;
  text.add("\none round, batch %u, k = %u, context %u: %.3f ms timed, %zu "
           "commands\n",
           point.batch, point.k, point.context, whole * 1e3,
           point.commands.size());
  addGroups(text, "phase", groupByPhase(point, r.rates), whole);
  addGroups(text, "kernel", groupByKind(point, r.rates), whole);
}

/// Adds the points whose turns ended before the fastest run came again.
static void addUnsettled(Text &text, const Results &r, const Options &o) {
  if (o.estimate != Estimate::Fastest)
    return;
  for (const Point &p : r.points)
    if (!p.isSettled())
      text.add("\nbatch %u, k = %u, context %u: the fastest run did not come "
               "again; its time may be too long.\n",
               p.batch, p.k, p.context);
}

static void addNotes(Text &text, const Results &r) {
  const Point &point = r.points[0];
  if (r.cacheBytes && point.boundBytes < r.cacheBytes)
    text.add("\nThe weights (%.1f MB) fit the last cache (%.1f MB): the limit "
             "of memory does not hold.\n",
             double(point.boundBytes) * 1e-6, double(r.cacheBytes) * 1e-6);
  if (point.hasExperts)
    text.add("\nExperts: bytes count those that rows are expected to choose "
             "if all are equally likely.\n");
}

std::string bench::textReport(const Results &r, const Options &o) {
  Text text;
  addMachine(text, r, o);
  if (o.wants("decode"))
    addDecode(text, r, o);
  if (o.wants("rows"))
    addRows(text, r, o);
  if (!r.prefills.empty())
    addPrefill(text, r, o);
  if (!r.speculative.empty())
    addSpeculative(text, r, o);
  if (!r.sessions.empty())
    addSessions(text, r);
  if (!r.points.empty()) {
    addRound(text, r, o);
    addUnsettled(text, r, o);
    addNotes(text, r);
  }
  return text.out;
}
