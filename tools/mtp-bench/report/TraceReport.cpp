//===- TraceReport.cpp - A round as a trace -------------------------------===//
//
// Writes a JSON array of "complete" events, which Chrome's tracing and Perfetto
// read. Each event has a line, since a round has hundreds of them per worker.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-bench/report/Reports.h"

#include <algorithm>
#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

/// Escapes names: symbols and kinds of the artifact may contain any byte.
static std::string escaped(const std::string &text) {
  std::string out;
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c >= 0x20)
      out += char(c);
  }
  return out;
}

static void addEvent(std::string &out, const std::string &name,
                     const std::string &category, uint32_t worker,
                     uint64_t begin, uint64_t end, const std::string &extra) {
  char times[160];
  std::snprintf(times, sizeof(times),
                "\"ph\": \"X\", \"pid\": 0, \"tid\": %u, \"ts\": %.3f, "
                "\"dur\": %.3f",
                worker, double(begin) * 1e-3, double(end - begin) * 1e-3);
  out += ",\n{\"name\": \"" + name + "\", \"cat\": \"" + category + "\", " +
         times + ", \"args\": {" + extra + "}}";
}

std::string bench::traceReport(const Point &point, bool isGpu) {
  const CommandTimes &times = point.sample;
  uint64_t zero = UINT64_MAX;
  for (uint32_t w = 0; w < times.workers(); ++w)
    if (times.commands() > 0)
      zero = std::min(zero, times.of(w)[0].begin);
  char title[128];
  std::snprintf(title, sizeof(title),
                "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, "
                "\"args\": {\"name\": \"batch %u, k = %u, context %u\"}}",
                point.batch, point.k, point.context);
  std::string out = title;
  for (uint32_t w = 0; w < times.workers(); ++w) {
    out += ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, "
           "\"tid\": " +
           std::to_string(w) + ", \"args\": {\"name\": \"" +
           (isGpu ? "GPU" : "worker " + std::to_string(w)) + "\"}}";
    for (size_t i = 0; i < times.commands(); ++i) {
      const CommandTime &time = times.of(w)[i];
      const CommandResult &command = point.commands[i];
      std::string extra = "\"command\": " + std::to_string(i) +
                          ", \"kernel\": \"" + escaped(command.symbol) + "\"";
      addEvent(out, escaped(command.kind), command.phase, w, time.begin - zero,
               time.end - zero, extra);
      if (time.wait() > 0)
        addEvent(out, "wait", "wait", w, time.end - zero, time.released - zero,
                 "\"command\": " + std::to_string(i));
    }
  }
  return out + "\n]\n";
}
