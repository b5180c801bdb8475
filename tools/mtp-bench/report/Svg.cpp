//===- Svg.cpp - Write a small SVG ----------------------------------------===//

#include "tools/mtp-bench/report/Svg.h"

#include "runtime/core/StrCat.h"

#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

static const char kStyle[] = R"(<style>
text { font: 12px sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: bold }
.muted { fill: #59636e }
.ground { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.mark { stroke: #1f2328; stroke-width: 2 }
.series { fill: none; stroke: currentColor; stroke-width: 2 }
.limit { fill: none; stroke: currentColor; stroke-width: 1.5 }
.limit { stroke-dasharray: 5 4 }
.dot { fill: currentColor }
svg { color: #59636e }
.color0 { color: #2f6fc4 } .color1 { color: #e07b22 } .color2 { color: #2e8b57 }
.color3 { color: #8250c8 } .color4 { color: #c2325f } .color5 { color: #1b8a99 }
.color6 { color: #8a6d1f } .color7 { color: #59636e }
.draft { fill: #e07b22 }
.next { fill: #f0b27a }
.target { fill: #2f6fc4 }
.accept { fill: #2e8b57 }
.wait { fill: #b9c2cc }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.muted { fill: #9aa4af }
.ground { fill: #0d1117 }
.grid { stroke: #30363d }
.mark { stroke: #e6edf3 }
svg { color: #9aa4af }
.color0 { color: #5b96e6 } .color1 { color: #e8913f } .color2 { color: #46a874 }
.color3 { color: #a983e6 } .color4 { color: #e6678f } .color5 { color: #4bb8c7 }
.color6 { color: #c2a24e } .color7 { color: #9aa4af }
.draft { fill: #e8913f }
.next { fill: #a8652b }
.target { fill: #5b96e6 }
.accept { fill: #46a874 }
.wait { fill: #484f58 }
}
</style>
)";

static std::string escaped(std::string_view words) {
  std::string out;
  for (char c : words)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  return out;
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

static std::string attribute(const char *name, double value) {
  return strCat(" ", name, "=\"", number(value), "\"");
}

static std::string classOf(std::string_view style) {
  return style.empty() ? "" : strCat(" class=\"", style, "\"");
}

/// Returns the end of an element, preceded by its hint if it has one.
static std::string close(const char *name, std::string_view hint) {
  if (hint.empty())
    return "/>\n";
  return "><title>" + escaped(hint) + "</title></" + name + ">\n";
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor,
               std::string_view style) {
  const char *anchors[] = {"", " text-anchor=\"middle\"",
                           " text-anchor=\"end\""};
  body += "<text" + attribute("x", x) + attribute("y", y) +
          anchors[int(anchor)] + classOf(style) + ">" + escaped(words) +
          "</text>\n";
}

void Svg::rect(double x, double y, double w, double h, std::string_view style,
               std::string_view hint) {
  body += "<rect" + attribute("x", x) + attribute("y", y) +
          attribute("width", w) + attribute("height", h) + classOf(style) +
          close("rect", hint);
}

void Svg::line(double x1, double y1, double x2, double y2,
               std::string_view style) {
  body += "<path d=\"M" + number(x1) + " " + number(y1) + "L" + number(x2) +
          " " + number(y2) + "\"" + classOf(style) + "/>\n";
}

void Svg::curve(const std::vector<std::pair<double, double>> &points,
                std::string_view style) {
  body += "<polyline points=\"";
  for (auto [x, y] : points)
    body.append(number(x)).append(1, ',').append(number(y)).append(1, ' ');
  body += strCat("\"", classOf(style), "/>\n");
}

void Svg::dot(double x, double y, std::string_view style,
              std::string_view hint) {
  body += "<circle" + attribute("cx", x) + attribute("cy", y) + " r=\"4\"" +
          classOf(style) + close("circle", hint);
}

std::string Svg::finish(double height) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
         number(width) + " " + number(height) + "\"" +
         attribute("width", width) + attribute("height", height) + ">\n" +
         kStyle + "<rect" + attribute("width", width) +
         attribute("height", height) + " class=\"ground\"/>\n" + body +
         "</svg>\n";
}
