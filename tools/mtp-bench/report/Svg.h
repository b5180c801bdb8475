//===- Svg.h - Write a small SVG --------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_SVG_H
#define MTP_TOOLS_MTP_BENCH_REPORT_SVG_H

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp::bench {

enum class Anchor { Start, Middle, End };

/// Shapes on a canvas, in pixels from the upper left. Colors are classes that
/// its style sheet defines for light and dark backgrounds; a style is one or
/// more of them.
class Svg {
public:
  /// The number of colors of a chart's lines: classes "color0" and so on, the
  /// first like "target", the second like "draft".
  static constexpr size_t kColors = 8;

  explicit Svg(double width) : width(width) {}

  /// `style` is "title", "muted" or "" for plain text.
  void text(double x, double y, std::string_view words, Anchor anchor,
            std::string_view style = "");
  /// `hint` shows when the mouse rests on it.
  void rect(double x, double y, double w, double h, std::string_view style,
            std::string_view hint = "");
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void curve(const std::vector<std::pair<double, double>> &points,
             std::string_view style);
  void dot(double x, double y, std::string_view style, std::string_view hint);

  /// Returns the document, `height` pixels high.
  std::string finish(double height) const;

private:
  double width;
  std::string body;
};

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_SVG_H
