//===- Chart.cpp - Draw a scaling curve -----------------------------------===//
//
// The axis is linear: most quantities here grow by an equal amount per row or
// token, which gives a straight line.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-bench/report/Chart.h"
#include "tools/mtp-bench/report/Format.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace mtp;
using namespace mtp::bench;

static constexpr double kHeight = 200, kTitle = 20;
/// The left end of the legend in the line of the title, unless the title is
/// longer, and the height of its lines.
static constexpr double kLegend = 330, kLegendLine = 18;
/// Space between labels, and between an axis' end and its first point.
static constexpr double kGap = 8, kInset = 20;
/// The top of the axis relative to the highest value.
static constexpr double kHeadroom = 1.05;

/// The width of a bold title's characters relative to plain ones.
static constexpr double kBold = 1.3;

double bench::gridStep(double most) {
  double power = std::pow(10, std::floor(std::log10(most)));
  for (double factor : {0.2, 0.5})
    if (most <= 10 * factor * power)
      return factor * power;
  return power;
}

std::vector<size_t> bench::labelsThatFit(const std::vector<double> &centers,
                                         const std::vector<double> &widths) {
  std::vector<size_t> kept;
  auto touches = [&](size_t a, size_t b) {
    return centers[b] - widths[b] / 2 < centers[a] + widths[a] / 2 + kGap;
  };
  for (size_t i = 0, last = centers.size() - 1; i < centers.size(); ++i)
    if (i == 0 || i == last || (!touches(kept.back(), i) && !touches(i, last)))
      kept.push_back(i);
  return kept;
}

namespace {
class Chart {
public:
  Chart(Svg &svg, const Growth &growth, double left, double right, double top)
      : svg(svg), growth(growth), left(left), right(right), y(top) {}
  double draw();

private:
  void legend();
  void heights(double most);
  void places();
  void line(size_t index);

  Svg &svg;
  const Growth &growth;
  double left, right, y;
  Scale across = {}, up = {};
};
} // namespace

/// Returns a line's color; colors repeat if there are more lines.
static std::string colorOf(size_t index) {
  return format("color%.0f", double(index % Svg::kColors));
}

void Chart::legend() {
  const double begin =
      std::max(kLegend, kTitle + kBold * textWidth(growth.title) + 2 * kGap);
  double x = begin;
  auto add = [&](const std::string &style, std::string_view words) {
    double width = 28 + textWidth(words);
    if (x > begin && x + width > right) {
      x = begin;
      y += kLegendLine;
    }
    svg.line(x, y - 4, x + 22, y - 4, style);
    svg.text(x + 28, y, words, Anchor::Start, "muted");
    x += width + 2 * kGap;
  };
  for (size_t i = 0; i < growth.lines.size(); ++i)
    add("series " + colorOf(i), growth.lines[i].name);
  add("limit", "limit");
}

void Chart::heights(double most) {
  double step = gridStep(most);
  for (int i = 0; i * step <= most; ++i) {
    double height = up(i * step);
    svg.line(left, height, right, height, "grid");
    svg.text(left - kGap, height + 4, format("%g", i * step), Anchor::End,
             "muted");
  }
  svg.text(left - kGap, up.end - 12, "ms", Anchor::End, "muted");
}

/// Draws the labels at the measured values.
void Chart::places() {
  std::set<uint32_t> values;
  for (const GrowthLine &line : growth.lines)
    for (const GrowthPoint &point : line.points)
      values.insert(point.at);
  across = {double(*values.begin()), double(*values.rbegin()), left + kInset,
            right - kInset};
  std::vector<std::string> words;
  std::vector<double> centers, widths;
  for (uint32_t value : values) {
    words.push_back(std::to_string(value));
    centers.push_back(across(value));
    widths.push_back(textWidth(words.back()));
  }
  for (size_t i : labelsThatFit(centers, widths)) {
    svg.line(centers[i], up.begin, centers[i], up.begin + 4, "grid");
    svg.text(centers[i], up.begin + 18, words[i], Anchor::Middle, "muted");
  }
  svg.text((left + right) / 2, up.begin + 36, growth.axis, Anchor::Middle,
           "muted");
}

void Chart::line(size_t index) {
  const GrowthLine &line = growth.lines[index];
  std::string color = colorOf(index);
  std::vector<std::pair<double, double>> curve, limit;
  for (const GrowthPoint &point : line.points) {
    curve.emplace_back(across(point.at), up(point.seconds * 1e3));
    limit.emplace_back(across(point.at), up(point.limit * 1e3));
  }
  svg.curve(limit, "limit " + color);
  svg.curve(curve, "series " + color);
  for (size_t i = 0; i < curve.size(); ++i) {
    const GrowthPoint &point = line.points[i];
    svg.dot(curve[i].first, curve[i].second, "dot " + color,
            line.name + format(" at %.0f: ", point.at) +
                milliseconds(point.seconds) + ", " +
                share(point.limit, point.seconds) + " of limit");
  }
}

double Chart::draw() {
  double most = 0;
  for (const GrowthLine &line : growth.lines)
    for (const GrowthPoint &point : line.points)
      most = std::max({most, point.seconds * 1e3, point.limit * 1e3});
  if (!(most > 0))
    return y;
  svg.text(kTitle, y, growth.title, Anchor::Start, "title");
  legend();
  double top = y + 32;
  up = {0, most * kHeadroom, top + kHeight, top};
  heights(most * kHeadroom);
  places();
  for (size_t i = 0; i < growth.lines.size(); ++i)
    line(i);
  return up.begin + 64;
}

double bench::drawChart(Svg &svg, const Growth &growth, double left,
                        double right, double top) {
  return Chart(svg, growth, left, right, top).draw();
}
