//===- SvgReport.cpp - A picture of a round -------------------------------===//

#include "tools/mtp-bench/Chart.h"
#include "tools/mtp-bench/Format.h"
#include "tools/mtp-bench/Reports.h"
#include "tools/mtp-bench/Svg.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

static constexpr double kWidth = 760, kLeft = 110, kRight = 180, kBar = 20;
/// On the right of what needs no words there.
static constexpr double kMargin = 40;
/// Kernels of a smaller share of the time are drawn as one.
static constexpr double kLeastShare = 0.01;

/// Drafts in two turns of color, so that neighbours are told apart.
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
  Picture(const Results &results, const Options &options)
      : results(results), options(options), svg(kWidth),
        shown(profiledPoint(results, options)) {}

  std::string draw();

private:
  void legend(double x, const char *style, const char *words);
  void rounds();
  void roundBar(const Point &point, double scale);
  void kinds();

  const Results &results;
  const Options &options;
  Svg svg;
  const Point &shown;
  double y = 28;
};
} // namespace

void Picture::legend(double x, const char *style, const char *words) {
  svg.rect(x, y - 9, 10, 10, style);
  svg.text(x + 15, y, words, Anchor::Start, "muted");
}

void Picture::roundBar(const Point &point, double scale) {
  double x = kLeft, whole = wallOf(point);
  svg.text(kLeft - 8, y + 14, format("k = %.0f", point.k), Anchor::End);
  for (const Group &group : groupByPhase(point, results.rates)) {
    double width = group.wall * scale;
    svg.rect(x, y, width, kBar, phaseStyle(group.name),
             group.name + ": " + milliseconds(group.wall) + ", " +
                 share(group.limit, group.wall) + " of limit");
    x += width;
  }
  double limit = kLeft + point.limit(results.rates, false) * scale;
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
  svg.text(20, y,
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
    roundBar(*point, (kWidth - kLeft - kRight) / most);
  y += 28;
}

/// The kernels that take time, the longest first, and the sum of the others.
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

void Picture::kinds() {
  std::vector<Group> groups = mainKinds(shown, results.rates);
  double most = 0;
  for (const Group &group : groups)
    most = std::max({most, group.wall, group.limit});
  double scale = (kWidth - kLeft - kRight) / most;
  svg.text(20, y, format("Its kernels, k = %.0f", shown.k), Anchor::Start,
           "title");
  legend(330, "target", "running");
  legend(420, "wait", "waiting for other threads");
  y += 16;
  for (const Group &group : groups) {
    // Workers' means differ a little from worker 0's time; only the parts'
    // share is shown.
    double all = group.busy + group.wait;
    double busy = all > 0 ? group.wall * group.busy / all : 0;
    svg.text(kLeft - 8, y + 14, group.name, Anchor::End);
    svg.rect(kLeft, y, busy * scale, kBar, "target");
    svg.rect(kLeft + busy * scale, y, (group.wall - busy) * scale, kBar,
             "wait");
    double limit = kLeft + group.limit * scale;
    bool hasLimit = group.limit > kLeastShare * group.wall;
    if (hasLimit)
      svg.line(limit, y - 2, limit, y + kBar + 2, "mark");
    svg.text(std::max(kLeft + group.wall * scale, limit) + 8, y + 14,
             milliseconds(group.wall) +
                 (hasLimit ? ", " + share(group.limit, group.wall) + " of limit"
                           : ""),
             Anchor::Start, "muted");
    y += kBar + 6;
  }
  y += 28;
}

std::string Picture::draw() {
  rounds();
  kinds();
  for (auto growth : {growthWithRows, growthWithContext, growthWithBatch})
    y = drawChart(svg, growth(results, options), kLeft, kWidth - kMargin, y);
  svg.text(20, y - 8,
           results.processor + format(", %.0f threads", results.threads) +
               format(", read %.1f GB/s", results.rates.bytes * 1e-9) +
               (options.estimate == Estimate::Fastest ? ", fastest runs" : "") +
               (results.isNoisy ? ", too noisy to tell" : ""),
           Anchor::Start, "muted");
  return svg.finish(y + 8);
}

std::string bench::svgReport(const Results &results, const Options &options) {
  return Picture(results, options).draw();
}
