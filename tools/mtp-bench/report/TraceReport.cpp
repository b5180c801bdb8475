//===- TraceReport.cpp - A round as a trace -------------------------------===//
//
// Writes a JSON array of "complete" events, which Chrome's tracing and Perfetto
// read. Each event has a line, since a round has hundreds of them per worker.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-bench/report/Format.h"
#include "tools/mtp-bench/report/Reports.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

namespace {
/// The events of a trace, one a line.
class Trace {
public:
  /// Names the process or a thread of the events.
  void name(const char *what, const uint32_t *worker, const std::string &name);
  /// Adds an event of a command, with the name of its kernel unless that name
  /// is empty.
  void add(const std::string &name, const std::string &category,
           uint32_t worker, uint64_t begin, uint64_t end, size_t command,
           const std::string &kernel);
  std::string finish() const { return "[\n" + text + "\n]\n"; }

private:
  void append(const JsonWriter &event) {
    text += (text.empty() ? "" : ",\n") + event.text();
  }
  std::string text;
};
} // namespace

void Trace::name(const char *what, const uint32_t *worker,
                 const std::string &name) {
  JsonWriter event(JsonWriter::Layout::OneLine);
  event.beginObject();
  event.field("name", what);
  event.field("ph", "M");
  event.field("pid", 0);
  if (worker)
    event.field("tid", *worker);
  event.key("args");
  event.beginObject();
  event.field("name", name);
  event.endObject();
  event.endObject();
  append(event);
}

/// Writes nanoseconds as microseconds.
static void addTime(JsonWriter &event, const char *key, uint64_t nanoseconds) {
  event.key(key);
  event.raw(format("%.3f", double(nanoseconds) * 1e-3));
}

void Trace::add(const std::string &name, const std::string &category,
                uint32_t worker, uint64_t begin, uint64_t end, size_t command,
                const std::string &kernel) {
  JsonWriter event(JsonWriter::Layout::OneLine);
  event.beginObject();
  event.field("name", name);
  event.field("cat", category);
  event.field("ph", "X");
  event.field("pid", 0);
  event.field("tid", worker);
  addTime(event, "ts", begin);
  addTime(event, "dur", end - begin);
  event.key("args");
  event.beginObject();
  event.field("command", command);
  if (!kernel.empty())
    event.field("kernel", kernel);
  event.endObject();
  event.endObject();
  append(event);
}

std::string bench::traceReport(const Point &point, bool isGpu) {
  const CommandTimes &times = point.sample;
  uint64_t zero = UINT64_MAX;
  for (uint32_t w = 0; w < times.workers(); ++w)
    if (times.commands() > 0)
      zero = std::min(zero, times.of(w)[0].begin);
  Trace trace;
  trace.name("process_name", nullptr,
             strCat("batch ", point.batch, ", k = ", point.k, ", context ",
                    point.context));
  for (uint32_t w = 0; w < times.workers(); ++w) {
    trace.name("thread_name", &w, isGpu ? "GPU" : strCat("worker ", w));
    for (size_t i = 0; i < times.commands(); ++i) {
      const CommandTime &time = times.of(w)[i];
      const CommandResult &command = point.commands[i];
      trace.add(command.kind, command.phase, w, time.begin - zero,
                time.end - zero, i, command.symbol);
      if (time.wait() > 0)
        trace.add("wait", "wait", w, time.end - zero, time.released - zero, i,
                  "");
    }
  }
  return trace.finish();
}
