//===- SvgReport.cpp - A round as a picture -------------------------------===//

#include "tools/mtp-bench/report/Chart.h"
#include "tools/mtp-bench/report/Format.h"
#include "tools/mtp-bench/report/Reports.h"
#include "tools/mtp-bench/report/Svg.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

static constexpr double kWidth = 760, kRight = 190, kBar = 20;
/// The left edge of words, and the smallest left edge of the bars.
static constexpr double kEdge = 20, kLeastLeft = 110;
/// The right margin without words.
static constexpr double kMargin = 40;
/// Kernels with a smaller share of the time are drawn as one.
static constexpr double kLeastShare = 0.01;

/// Returns the style of a phase. Drafts alternate between two colors, so that
/// neighbours differ.
static const char *phaseStyle(const std::string &phase) {
  if (phase == "verify")
    return "target";
  if (phase == "accept")
    return "accept";
  return (phase.back() - '0') % 2 ? "draft" : "next";
}

static double wallOf(const Point &point) {
  double sum = 0;
  for (const CommandResult &command : point.commands)
    sum += command.wall;
  return sum;
}

namespace {
class Picture {
public:
  Picture(const Results &results, const Options &options);

  std::string draw();

private:
  void legend(double x, const char *style, const char *words);
  void caption();
  void rounds();
  void roundBar(const Point &point, double scale);
  void kinds();

  const Results &results;
  const Options &options;
  Svg svg;
  const Point &shown;
  std::vector<Group> groups;
  /// The left edge of bars and axes, right of the longest label.
  double left = kLeastLeft;
  double y = 28;
};
} // namespace

/// Returns the kernels that take time, the longest first, and the sum of the
/// others.
static std::vector<Group> mainKinds(const Point &point, const Rates &rates) {
  std::vector<Group> groups;
  Group others("others");
  for (const Group &group : groupByKind(point, rates)) {
    if (group.wall >= kLeastShare * wallOf(point)) {
      groups.push_back(group);
      continue;
    }
    others.commands += group.commands;
    others.wall += group.wall;
    others.busy += group.busy;
    others.wait += group.wait;
    others.limit += group.limit;
  }
  if (others.commands > 0)
    groups.push_back(others);
  return groups;
}

Picture::Picture(const Results &results, const Options &options)
    : results(results), options(options), svg(kWidth),
      shown(profiledPoint(results, options)),
      groups(mainKinds(shown, results.rates)) {
  for (const Group &group : groups)
    left = std::max(left, kEdge + textWidth(group.name) + 8);
}

void Picture::legend(double x, const char *style, const char *words) {
  svg.rect(x, y - 9, 10, 10, style);
  svg.text(x + 15, y, words, Anchor::Start, "muted");
}

void Picture::roundBar(const Point &point, double scale) {
  double x = left, whole = wallOf(point);
  svg.text(left - 8, y + 14, format("k = %.0f", point.k), Anchor::End);
  for (const Group &group : groupByPhase(point, results.rates)) {
    double width = group.wall * scale;
    svg.rect(x, y, width, kBar, phaseStyle(group.name),
             group.name + ": " + milliseconds(group.wall) + ", " +
                 share(group.limit, group.wall) + " of limit");
    x += width;
  }
  double limit = left + point.limit(results.rates, false) * scale;
  svg.line(limit, y - 2, limit, y + kBar + 2, "mark");
  svg.text(std::max(x, limit) + 8, y + 14,
           milliseconds(whole) + ", " +
               share(point.limit(results.rates, false), whole) + " of limit",
           Anchor::Start, "muted");
  y += kBar + 8;
}

void Picture::rounds() {
  std::vector<const Point *> points;
  for (const Point &point : results.points)
    if (point.batch == shown.batch && point.context == shown.context)
      points.push_back(&point);
  std::sort(points.begin(), points.end(),
            [](const Point *a, const Point *b) { return a->k < b->k; });
  double most = 0;
  for (const Point *point : points)
    most = std::max({most, wallOf(*point), point->limit(results.rates, false)});
  svg.text(kEdge, y,
           format("A round, batch %.0f", shown.batch) +
               format(", context %.0f", shown.context),
           Anchor::Start, "title");
  legend(330, "draft", "draft");
  legend(400, "target", "verify");
  legend(475, "accept", "accept");
  svg.line(555, y - 10, 555, y + 2, "mark");
  svg.text(563, y, "limit of this machine", Anchor::Start, "muted");
  y += 16;
  for (const Point *point : points)
    roundBar(*point, (kWidth - left - kRight) / most);
  y += 28;
}

void Picture::kinds() {
  double most = 0;
  for (const Group &group : groups)
    most = std::max({most, group.wall, group.limit});
  double scale = (kWidth - left - kRight) / most;
  svg.text(kEdge, y, format("Its kernels, k = %.0f", shown.k), Anchor::Start,
           "title");
  legend(330, "target", "running");
  legend(420, "wait", "waiting for other threads");
  y += 16;
  for (const Group &group : groups) {
    // Workers' means differ slightly from worker 0's time, so only the shares
    // are drawn.
    double all = group.busy + group.wait;
    double busy = all > 0 ? group.wall * group.busy / all : 0;
    svg.text(left - 8, y + 14, group.name, Anchor::End);
    svg.rect(left, y, busy * scale, kBar, "target");
    svg.rect(left + busy * scale, y, (group.wall - busy) * scale, kBar, "wait");
    double limit = left + group.limit * scale;
    bool hasLimit = group.limit > kLeastShare * group.wall;
    if (hasLimit)
      svg.line(limit, y - 2, limit, y + kBar + 2, "mark");
    svg.text(std::max(left + group.wall * scale, limit) + 8, y + 14,
             milliseconds(group.wall) +
                 (hasLimit ? ", " + share(group.limit, group.wall) + " of limit"
                           : ""),
             Anchor::Start, "muted");
    y += kBar + 6;
  }
  y += 28;
}

/// Writes the subject and the machine of the measurement, wrapped into lines.
void Picture::caption() {
  const Results &r = results;
  std::vector<std::string> facts = {
      r.model + ": " + r.formats,
      r.processor + (r.features.empty() ? "" : " (" + r.features + ")") +
          format(", %.0f processors", r.processors),
      format("%.0f threads", r.threads) + (r.pinned ? ", pinned" : ""),
      format("read %.1f GB/s", r.rates.bytes * 1e-9),
      options.estimate == Estimate::Fastest
          ? "fastest runs"
          : format("medians of %.0f turns", options.turns),
      r.producer,
      r.date};
  if (r.isNoisy)
    facts.push_back("too noisy to tell");
  std::string line;
  auto flush = [&] {
    svg.text(kEdge, y - 8, line, Anchor::Start, "muted");
    y += 18;
    line.clear();
  };
  for (const std::string &fact : facts) {
    if (!line.empty() &&
        kEdge + textWidth(line) + textWidth(fact) + 12 > kWidth - kEdge)
      flush();
    line += (line.empty() ? "" : "; ") + fact;
  }
  flush();
}

std::string Picture::draw() {
  rounds();
  kinds();
  for (auto growth : {growthWithRows, growthWithContext, growthWithBatch})
    y = drawChart(svg, growth(results, options), left, kWidth - kMargin, y);
  caption();
  return svg.finish(y - 8);
}

std::string bench::svgReport(const Results &results, const Options &options) {
  return Picture(results, options).draw();
}
