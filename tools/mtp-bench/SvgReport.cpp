//===- SvgReport.cpp - A picture of a round -------------------------------===//

#include "tools/mtp-bench/Reports.h"
#include "tools/mtp-bench/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

static constexpr double kWidth = 760, kLeft = 110, kRight = 180, kBar = 20;
/// Kernels of a smaller share of the time are drawn as one.
static constexpr double kLeastShare = 0.01;

static std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

static std::string milliseconds(double seconds) {
  return format("%.3g ms", seconds * 1e3);
}

static std::string share(double part, double whole) {
  return format("%.0f %%", whole > 0 ? 100 * part / whole : 0);
}

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
  void rows();
  void axes(double top, double bottom, double most);
  void series(const std::vector<const Point *> &points, const char *dots,
              const char *line, double scaleX, double scaleY, double bottom);

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

/// A step of 1, 2 or 5 times a power of ten that gives four to nine lines.
static double gridStep(double most) {
  double power = std::pow(10, std::floor(std::log10(most)));
  for (double factor : {0.1, 0.2, 0.5, 1.0})
    if (most / (factor * power) < 9)
      return factor * power;
  return power;
}

void Picture::axes(double top, double bottom, double most) {
  double step = gridStep(most * 1e3);
  for (double at = 0; at <= most * 1e3 * 1.0001; at += step) {
    double height = bottom - at / (most * 1e3) * (bottom - top);
    svg.line(kLeft, height, kWidth - 40, height, "grid");
    svg.text(kLeft - 8, height + 4, format("%g", at), Anchor::End, "muted");
  }
  svg.text(kLeft - 8, top - 12, "ms", Anchor::End, "muted");
}

void Picture::series(const std::vector<const Point *> &points, const char *dots,
                     const char *line, double scaleX, double scaleY,
                     double bottom) {
  auto at = [&](const Point &point, double seconds) {
    return std::pair(kLeft + 20 + (point.batch * (point.k + 1) - 1) * scaleX,
                     bottom - seconds * scaleY);
  };
  std::vector<std::pair<double, double>> curve, limit;
  for (const Point *point : points) {
    curve.push_back(at(*point, median(point->targetSeconds)));
    limit.push_back(at(*point, point->limit(results.rates, true)));
  }
  svg.curve(limit, "limit");
  svg.curve(curve, line);
  for (size_t i = 0; i < points.size(); ++i)
    svg.dot(curve[i].first, curve[i].second, dots,
            format("%.0f rows: ", points[i]->batch * (points[i]->k + 1)) +
                milliseconds(median(points[i]->targetSeconds)));
}

void Picture::rows() {
  std::vector<const Point *> steps, drafts;
  double most = 0;
  uint32_t mostRows = 1;
  for (const Point *point : rowPoints(results, options)) {
    if (point->k != 0 && point->batch != 1)
      continue;
    if (point->k == 0)
      steps.push_back(point);
    if (point->batch == 1)
      drafts.push_back(point);
    mostRows = std::max(mostRows, point->batch * (point->k + 1));
    most = std::max({most, median(point->targetSeconds),
                     point->limit(results.rates, true)});
  }
  if (mostRows < 2)
    return;
  svg.text(20, y, "The target's pass against rows", Anchor::Start, "title");
  legend(330, "target", "one row a slot");
  legend(450, "draft", "one slot, k + 1 rows");
  svg.line(600, y - 4, 625, y - 4, "limit");
  svg.text(632, y, "limit", Anchor::Start, "muted");
  double top = y + 28, bottom = top + 200;
  most *= 1.05;
  double scaleX = (kWidth - kLeft - 80) / (mostRows - 1);
  axes(top, bottom, most);
  for (uint32_t rows = 1; rows <= mostRows;
       rows += std::max(1u, (mostRows + 15) / 16))
    svg.text(kLeft + 20 + (rows - 1) * scaleX, bottom + 18,
             std::to_string(rows), Anchor::Middle, "muted");
  svg.text((kLeft + kWidth - 40) / 2, bottom + 36, "rows", Anchor::Middle,
           "muted");
  double scaleY = (bottom - top) / most;
  series(steps, "target", "steps", scaleX, scaleY, bottom);
  series(drafts, "draft", "drafts", scaleX, scaleY, bottom);
  y = bottom + 64;
}

std::string Picture::draw() {
  rounds();
  kinds();
  rows();
  svg.text(20, y - 8,
           results.processor + format(", %.0f threads", results.threads) +
               format(", read %.1f GB/s", results.rates.bytes * 1e-9) +
               (results.isNoisy ? ", too noisy to tell" : ""),
           Anchor::Start, "muted");
  return svg.finish(y + 8);
}

std::string bench::svgReport(const Results &results, const Options &options) {
  return Picture(results, options).draw();
}
