//===- DumpJson.cpp - An artifact as JSON ---------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-dump/Dump.h"
#include "tools/support/Json.h"

using namespace mtp;

/// Writes a vector of tables as an array of objects; `write` gets each.
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

static std::vector<int64_t> list(const flatbuffers::Vector<int32_t> *values) {
  return values ? std::vector<int64_t>(values->begin(), values->end())
                : std::vector<int64_t>();
}

static void writeHead(JsonWriter &json, const ArtifactFile &file) {
  const schema::Artifact &a = file.program();
  json.field("format_version", versionText(file.header().version));
  json.field("file_bytes", file.header().fileSize);
  json.field("program_bytes", file.header().programSize);
  json.field("producer", a.producer()->string_view());
  json.field("model", a.model() ? a.model()->string_view() : "");
  json.key("target");
  json.beginObject();
  json.field("arch", a.target()->arch()->string_view());
  json.field("cpu", a.target()->cpu() ? a.target()->cpu()->string_view() : "");
  json.key("features");
  json.beginArray();
  for (uint32_t i = 0; i < vectorSize(a.target()->features()); ++i)
    json.value(a.target()->features()->Get(i)->string_view());
  json.endArray();
  json.endObject();
}

static void writeEnvelope(JsonWriter &json, const schema::Artifact &a) {
  if (const schema::Envelope *e = a.envelope()) {
    json.key("envelope");
    json.beginObject();
    json.field("max_k", e->max_k());
    json.field("max_batch", e->max_batch());
    json.field("max_context", e->max_context());
    json.field("prefill_chunk", e->prefill_chunk());
    json.field("page_tokens", e->page_tokens());
    json.field("vocab", e->vocab());
    json.field("modules", e->modules());
    json.endObject();
  }
  if (const schema::Generation *g = a.generation()) {
    json.key("generation");
    json.beginObject();
    json.field("bos", g->bos());
    json.field("add_bos", g->add_bos());
    json.field("eos", list(g->eos()));
    json.field("temperature", double(g->temperature()));
    json.field("top_k", g->top_k());
    json.field("top_p", double(g->top_p()));
    json.field("min_p", double(g->min_p()));
    json.endObject();
  }
}

/// "16 + 4*p0*p1", in bytes.
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

/// What a kernel may be asked for, and what it then touches.
static void writeContract(JsonWriter &json, const schema::Contract &contract) {
  json.key("contract");
  json.beginObject();
  json.field("tasks", contract.tasks());
  json.field("rows_per_group", contract.rows_per_group());
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
               json.field("cache",
                          strCat(cache->page_tokens(), "x",
                                 cache->entry_width(), "x",
                                 dtypeName(cache->dtype()), ", heads ",
                                 cache->heads()));
           });
  json.endObject();
}

static void writeStorage(JsonWriter &json, const schema::Artifact &a) {
  json.field("arena_bytes", a.arena_bytes());
  json.field("state_bytes", a.state_bytes());
  json.field("scratch_bytes", a.scratch_bytes());
  json.field("tokenizer_segment", a.tokenizer());
  writeAll(json, "caches", a.caches(), [&](const schema::Cache &cache) {
    json.field("name", cache.name()->string_view());
    json.field("layers", cache.layers());
    json.field("entry_width", cache.entry_width());
    json.field("heads", cache.heads());
    json.field("dtype", dtypeName(cache.dtype()));
  });
  writeAll(json, "states", a.states(), [&](const schema::State &state) {
    json.field("name", state.name()->string_view());
    json.field("type", tensorTypeName(state.dtype(), state.shape()));
    json.field("offset", state.offset());
    if (const schema::Upkeep *upkeep = state.upkeep()) {
      json.field("shared", upkeep->shared());
      json.field("init", upkeep->init());
      json.field("rebuild", rebuildName(upkeep->rebuild()));
      json.field("rebuild_rows", upkeep->rows());
    }
  });
  writeAll(json, "segments", a.segments(), [&](const schema::Segment &s) {
    json.field("kind", schema::EnumNameSegmentKind(s.kind()));
    json.field("offset", s.offset());
    json.field("bytes", s.size());
  });
  auto blob = [&](const schema::Blob &b) {
    json.field("name", b.name()->string_view());
    json.field("type", tensorTypeName(b.dtype(), b.shape()));
    json.field("segment", b.segment());
    json.field("offset", b.offset());
    json.field("bytes", b.size());
    json.field("format", formatName(b.format()));
    json.field("group", b.group());
    json.field("inputs", b.inputs());
  };
  writeAll(json, "weights", a.weights(), blob);
  writeAll(json, "constants", a.constants(), blob);
  writeAll(json, "kernels", a.kernels(), [&](const schema::Kernel &k) {
    json.field("symbol", k.symbol()->string_view());
    json.field("kind", k.kind() ? k.kind()->string_view() : "");
    json.field("config", k.config() ? k.config()->string_view() : "");
    json.field("image", k.image());
    json.field("buffers", k.buffers());
    json.field("params", k.params());
    if (k.contract())
      writeContract(json, *k.contract());
  });
}

static void writePorts(
    JsonWriter &json, std::string_view name, const schema::Artifact &a,
    const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> *ports) {
  writeAll(json, name, ports, [&](const schema::Port &port) {
    json.field("name", port.name()->string_view());
    json.field("type", tensorTypeName(port.dtype(), port.shape()));
    json.field("binding", bindingText(a, *port.binding()));
  });
}

static void writeCommand(JsonWriter &json, const schema::Artifact &a,
                         const schema::Command &command) {
  json.field("kernel",
             a.kernels()->Get(command.kernel())->symbol()->string_view());
  json.field("tasks", command.tasks());
  json.field("solo", command.solo());
  json.field("joined", command.joined());
  std::vector<int64_t> params;
  for (uint32_t i = 0; i < vectorSize(command.params()); ++i)
    params.push_back(command.params()->Get(i));
  json.field("params", params);
  json.key("bindings");
  json.beginArray();
  for (uint32_t i = 0; i < vectorSize(command.bindings()); ++i)
    json.value(bindingText(a, *command.bindings()->Get(i)));
  json.endArray();
}

std::string mtp::dumpJson(const ArtifactFile &file, bool commands) {
  const schema::Artifact &a = file.program();
  JsonWriter json;
  json.beginObject();
  writeHead(json, file);
  writeEnvelope(json, a);
  writeStorage(json, a);
  writeAll(json, "programs", a.programs(), [&](const schema::Program &p) {
    json.field("name", p.name()->string_view());
    json.field("kind", kindName(p.kind()));
    json.field("batch", p.batch());
    json.field("k", p.k());
    json.field("chunk", p.chunk());
    json.field("modules", p.modules());
    json.field("arena_bytes", p.arena_bytes());
    json.field("command_count", vectorSize(p.commands()));
    writePorts(json, "inputs", a, p.inputs());
    writePorts(json, "outputs", a, p.outputs());
    if (commands)
      writeAll(json, "commands", p.commands(),
               [&](const schema::Command &c) { writeCommand(json, a, c); });
  });
  json.endObject();
  return json.text() + "\n";
}
