//===- DumpJson.cpp - An artifact as JSON ---------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/schema/WeightFormat.h"
#include "tools/mtp-dump/Dump.h"

using namespace mtp;

/// Writes a vector of tables as an array of objects. Calls `write` for each
/// table.
template <typename T, typename Write>
static void writeAll(JsonWriter &json, std::string_view name,
                     const flatbuffers::Vector<flatbuffers::Offset<T>> *items,
                     Write write) {
  json.key(name);
  json.beginArray();
  for (uint32_t i = 0; i < vectorSize(items); ++i) {
    json.beginObject();
    write(*items->Get(i));
    json.endObject();
  }
  json.endArray();
}

/// Writes a list of any elements as an array of objects.
template <typename T, typename Write>
static void writeEach(JsonWriter &json, std::string_view name,
                      const std::vector<T> &items, Write write) {
  json.key(name);
  json.beginArray();
  for (const T &item : items) {
    json.beginObject();
    write(item);
    json.endObject();
  }
  json.endArray();
}

static std::vector<int64_t> list(const flatbuffers::Vector<int32_t> *values) {
  return values ? std::vector<int64_t>(values->begin(), values->end())
                : std::vector<int64_t>();
}

static void writeHead(JsonWriter &json, const ArtifactFile &file) {
  const Artifact &a = file.artifact();
  json.field("format_version", versionText(file.header().version));
  json.field("file_bytes", file.header().fileSize);
  json.field("program_bytes", file.header().programSize);
  json.field("producer", a.producer);
  json.field("model", a.model ? a.model->string_view() : "");
  json.field("tokenizer_segment", a.tokenizer);
  json.field("method", a.method);
  json.field("rule", a.rule);
  json.field("lossy", a.isLossy);
}

static void writeTarget(JsonWriter &json, const schema::Target &target) {
  json.key("target");
  json.beginObject();
  json.field("arch", target.arch()->string_view());
  json.field("cpu", target.cpu() ? target.cpu()->string_view() : "");
  json.key("features");
  json.beginArray();
  for (uint32_t i = 0; i < vectorSize(target.features()); ++i)
    json.value(target.features()->Get(i)->string_view());
  json.endArray();
  json.endObject();
}

static void writeEnvelope(JsonWriter &json, const Artifact &a) {
  if (const schema::Envelope *e = a.envelope) {
    json.key("envelope");
    json.beginObject();
    json.field("max_k", e->max_k());
    json.field("max_batch", e->max_batch());
    json.field("max_context", e->max_context());
    json.field("prefill_chunk", e->prefill_chunk());
    json.field("page_tokens", e->page_tokens());
    json.field("vocab", e->vocab());
    json.field("places_ahead", a.ahead);
    json.field("max_nodes", mostNodes(*e));
    json.field("max_rows", e->max_rows());
    if (e->tree())
      json.field("tree", list(e->tree()));
    json.endObject();
  }
  if (const schema::Generation *g = a.generation) {
    json.key("generation");
    json.beginObject();
    json.field("bos", g->bos());
    json.field("add_bos", g->add_bos());
    json.field("eos", list(g->eos()));
    json.field("temperature", double(g->temperature()));
    json.field("top_k", g->top_k());
    json.field("top_p", double(g->top_p()));
    json.field("min_p", double(g->min_p()));
    json.field("repetition_penalty", double(g->repetition_penalty()));
    json.endObject();
  }
}

static void writeChat(JsonWriter &json, const schema::Chat *chat) {
  if (!chat)
    return;
  json.key("chat");
  json.beginObject();
  writeAll(json, "templates", chat->templates(),
           [&](const schema::ChatTemplate &one) {
             json.field("name", one.name()->string_view());
             json.field("source", one.source()->string_view());
           });
  writeAll(json, "tokens", chat->tokens(), [&](const schema::ChatToken &one) {
    json.field("name", one.name()->string_view());
    json.field("text", one.text()->string_view());
  });
  json.endObject();
}

/// Formats a size in bytes: "16 + 4*p0*p1".
static std::string bytesText(const schema::BufferContract &buffer) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i) {
    const schema::Term *term = buffer.bytes()->Get(i);
    text += strCat(i ? " + " : "", term->factor());
    for (uint32_t param : {term->first(), term->second()})
      if (param != 255)
        text += strCat("*p", param);
  }
  return text.empty() ? "0" : text;
}

/// Writes the parameters that a kernel accepts and the memory that it then
/// accesses.
static void writeContract(JsonWriter &json, const schema::Contract &contract) {
  json.key("contract");
  json.beginObject();
  json.field("tasks", contract.tasks());
  json.field("rows_per_group", contract.rows_per_group());
  json.field("most_tasks", contract.most_tasks());
  json.field("scratch", contract.scratch());
  std::vector<int64_t> ranges;
  for (uint32_t i = 0; i < vectorSize(contract.params()); ++i)
    for (int64_t end : {contract.params()->Get(i)->least(),
                        contract.params()->Get(i)->most()})
      ranges.push_back(end);
  json.field("param_ranges", ranges);
  writeAll(json, "buffers", contract.buffers(),
           [&](const schema::BufferContract &buffer) {
             json.field("bytes", bytesText(buffer));
             json.field("written", buffer.written());
             json.field("page_table", buffer.page_table());
             if (const schema::CacheContract *cache = buffer.cache())
               json.field("cache", strCat(cache->page_tokens(), "x",
                                          cache->entry_width(), "x",
                                          dtypeName(cache->dtype()), ", heads ",
                                          cache->heads()));
           });
  json.endObject();
}

static void writeShared(JsonWriter &json, const Artifact &a) {
  writeAll(json, "caches", a.caches, [&](const schema::Cache &cache) {
    json.field("name", cache.name()->string_view());
    json.field("layers", cache.layers());
    json.field("entry_width", cache.entry_width());
    json.field("heads", cache.heads());
    json.field("dtype", dtypeName(cache.dtype()));
  });
  writeEach(json, "states", a.states, [&](const State &state) {
    json.field("name", state.name);
    json.field("type", tensorTypeName(state.dtype, state.shape));
    json.field("shared", state.rule.shared);
    json.field("init", state.rule.init);
    json.field("rebuild", rebuildName(state.rule.rebuild));
    json.field("rebuild_rows", state.rule.rows);
    json.field("input", state.rule.input);
  });
  writeAll(json, "segments", a.segments, [&](const schema::Segment &s) {
    json.field("kind", schema::EnumNameSegmentKind(s.kind()));
    json.field("offset", s.offset());
    json.field("bytes", s.size());
  });
}

static void writeKernel(JsonWriter &json, const schema::Kernel &k) {
  json.field("symbol", k.symbol()->string_view());
  json.field("kind", k.kind() ? k.kind()->string_view() : "");
  json.field("config", k.config() ? k.config()->string_view() : "");
  json.field("image", k.image());
  json.field("buffers", k.buffers());
  json.field("params", k.params());
  if (k.contract())
    writeContract(json, *k.contract());
  if (const schema::CudaLaunch *launch = k.launch()) {
    json.field("threads", launch->threads());
    json.field("shared_bytes", launch->shared_bytes());
    json.field("takes_live", launch->takes_live());
  }
  if (const schema::Gemm *gemm = k.gemm()) {
    json.field("gemm_outputs", gemm->outputs());
    json.field("gemm_inputs", gemm->inputs());
    json.field("gemm_workspace", gemm->workspace());
  }
}

static void writeStorage(JsonWriter &json, const Plan &plan) {
  json.field("arena_bytes", plan.arenaBytes);
  json.field("state_bytes", plan.stateBytes);
  json.field("scratch_bytes", plan.scratchBytes);
  json.field("state_offsets", std::vector<int64_t>(plan.stateOffsets.begin(),
                                                   plan.stateOffsets.end()));
  auto blob = [&](const schema::Blob &b) {
    json.field("name", b.name()->string_view());
    json.field("type", tensorTypeName(b.dtype(), b.shape()));
    json.field("segment", b.segment());
    json.field("offset", b.offset());
    json.field("bytes", b.size());
    json.field("format", formatName(b.format()));
    json.field("group", b.group());
    json.field("inputs", b.inputs());
    json.field("scales", kWeightScales[unsigned(b.scales())]);
    json.field("has_offset", b.has_offset());
  };
  writeAll(json, "weights", plan.weights, blob);
  writeAll(json, "constants", plan.constants, blob);
  writeAll(json, "images", plan.images, [&](const schema::Image &image) {
    json.field("format", imageFormatName(image.format()));
    json.field("segment", image.segment());
    json.field("ptx_segment", image.ptx());
  });
  writeAll(json, "kernels", plan.kernels,
           [&](const schema::Kernel &kernel) { writeKernel(json, kernel); });
  if (vectorSize(plan.gemmAlgorithms))
    writeAll(json, "gemm_algorithms", plan.gemmAlgorithms,
             [&](const schema::GemmAlgorithm &a) {
               json.field("version", a.version());
               json.field("chip", a.chip()->string_view());
               json.field("rows", a.rows());
               json.field("outputs", a.outputs());
               json.field("inputs", a.inputs());
             });
}

static void writePorts(JsonWriter &json, std::string_view name,
                       const Artifact &a, const Plan &plan,
                       const std::vector<Port> &ports) {
  writeEach(json, name, ports, [&](const Port &port) {
    json.field("name", port.name);
    json.field("type", typeText(port));
    json.field("binding", placeText(a, plan, port.place));
    if (port.of != schema::PortRows::None)
      json.field("for", rowsName(port.of));
  });
}

/// Writes a number, or a text if it grows with n.
static void writeCount(JsonWriter &json, const Count &count) {
  if (count.isFixed())
    json.value(count.base);
  else
    json.value(countText(count));
}

static void writeCommand(JsonWriter &json, const Artifact &a, const Plan &plan,
                         const Program &program, const Command &command) {
  const schema::Kernel &kernel = plan.kernelOf(command);
  json.field("kernel", kernel.symbol()->string_view());
  json.key("tasks");
  std::string tasks = tasksText(plan, program, command);
  if (tasks.find(' ') == std::string::npos)
    json.raw(tasks); // a number
  else
    json.value(tasks);
  json.key("params");
  json.beginArray();
  for (const Count &param : program.paramsOf(command, kernel))
    writeCount(json, param);
  json.endArray();
  json.key("bindings");
  json.beginArray();
  for (const Place &place : program.placesOf(command, kernel))
    json.value(placeText(a, plan, place));
  json.endArray();
  if (const Place *live = program.activeRowsOf(command))
    json.field("live", placeText(a, plan, *live));
}

static void writeSchedules(JsonWriter &json, const Program &program) {
  writeEach(json, "cpu", program.schedules, [&](const CpuSchedule &schedule) {
    json.field("begin", schedule.begin);
    std::vector<int64_t> solo, joined;
    for (size_t i = 0; i < program.commands.size(); ++i) {
      if (schedule.isSolo(i))
        solo.push_back(int64_t(i));
      if (schedule.isJoined(i))
        joined.push_back(int64_t(i));
    }
    json.field("solo", solo);
    json.field("joined", joined);
  });
}

static void writeProgram(JsonWriter &json, const Artifact &a, const Plan &plan,
                         const Program &p, bool commands) {
  json.field("name", p.name);
  json.field("kind", kindName(p.kind));
  json.field("begin", p.begin);
  json.field("end", p.end);
  json.field("k", p.k);
  json.field("sequences", p.sequences);
  json.field("drafts", p.drafts);
  json.field("positions", p.positions);
  json.field("cut", p.cut);
  json.field("on_request", p.onRequest);
  json.field("prompts", p.prompts);
  json.field("catch_up", p.catchUp);
  json.key("arena_bytes");
  writeCount(json, p.arenaBytes);
  json.field("command_count", uint64_t(p.commands.size()));
  writePorts(json, "inputs", a, plan, p.inputs);
  writePorts(json, "outputs", a, plan, p.outputs);
  if (!commands)
    return;
  writeEach(json, "commands", p.commands,
            [&](const Command &c) { writeCommand(json, a, plan, p, c); });
  writeSchedules(json, p);
}

std::string mtp::dumpJson(const ArtifactFile &file, bool commands) {
  const Artifact &a = file.artifact();
  JsonWriter json;
  json.beginObject();
  writeHead(json, file);
  writeEnvelope(json, a);
  writeChat(json, a.chat);
  writeShared(json, a);
  writeEach(json, "plans", a.plans, [&](const Plan &plan) {
    writeTarget(json, *plan.target);
    writeStorage(json, plan);
    writeEach(json, "programs", plan.programs, [&](const Program &p) {
      writeProgram(json, a, plan, p, commands);
    });
  });
  json.endObject();
  return json.text() + "\n";
}
