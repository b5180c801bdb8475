//===- DumpText.cpp - An artifact as text ---------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-dump/Dump.h"

using namespace mtp;

static std::string_view orNone(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view("none");
}

static std::string headText(const ArtifactFile &file) {
  const FileHeader &header = file.header();
  const schema::Artifact &a = file.program();
  std::string text =
      strCat("format ", versionText(header.version), ", ", header.fileSize,
             " bytes, program ", header.programSize, " bytes at ",
             header.programOffset, "\nproducer ", a.producer()->string_view(),
             "\nmodel ", orNone(a.model()), "\ntarget ",
             a.target()->arch()->string_view(), ", cpu ",
             orNone(a.target()->cpu()), ", features");
  for (uint32_t i = 0; i < vectorSize(a.target()->features()); ++i)
    text += strCat(" ", a.target()->features()->Get(i)->string_view());
  return text + "\n";
}

static std::string envelopeText(const schema::Artifact &a) {
  const schema::Envelope *e = a.envelope();
  if (!e)
    return "envelope none\n";
  std::string text =
      strCat("envelope k ", e->max_k(), ", batch ", e->max_batch(),
             ", context ", e->max_context(), ", chunk ", e->prefill_chunk(),
             ", page ", e->page_tokens(), " tokens, vocabulary ", e->vocab(),
             ", modules ", e->modules(), "\n");
  const schema::Generation *g = a.generation();
  if (!g)
    return text;
  text += strCat("generation bos ", g->bos(), ", eos");
  for (uint32_t i = 0; i < vectorSize(g->eos()); ++i)
    text += strCat(" ", g->eos()->Get(i));
  return text + strCat(", temperature ", g->temperature(), ", top-k ",
                       g->top_k(), ", top-p ", g->top_p(), ", min-p ",
                       g->min_p(), "\n");
}

/// ", shared", ", init -1, rebuild tokens"; nothing in files before 1.3.
static std::string upkeepText(const schema::State &state) {
  const schema::Upkeep *upkeep = state.upkeep();
  if (!upkeep)
    return "";
  std::string text = upkeep->shared() ? ", shared" : "";
  if (upkeep->init() != 0)
    text += strCat(", init ", upkeep->init());
  if (upkeep->shared())
    return text;
  text += strCat(", rebuild ", rebuildName(upkeep->rebuild()));
  if (upkeep->rebuild() == schema::Rebuild::Rows)
    text += strCat(" ", upkeep->rows());
  return text;
}

static std::string memoryText(const schema::Artifact &a) {
  std::string text =
      strCat("memory arena ", a.arena_bytes(), ", states ", a.state_bytes(),
             ", scratch ", a.scratch_bytes(), " bytes a thread\n");
  for (uint32_t i = 0; i < vectorSize(a.caches()); ++i) {
    const schema::Cache *cache = a.caches()->Get(i);
    uint64_t token = uint64_t(cache->layers()) * cache->entry_width() *
                     dtypeBytes(cache->dtype());
    text += strCat("cache ", cache->name()->string_view(), ": ",
                   cache->layers(), " layers of ", cache->entry_width(), "x",
                   dtypeName(cache->dtype()), ", ", token, " bytes a token\n");
  }
  for (uint32_t i = 0; i < vectorSize(a.states()); ++i) {
    const schema::State *state = a.states()->Get(i);
    text += strCat("state ", state->name()->string_view(), ": ",
                   tensorTypeName(state->dtype(), state->shape()), " at ",
                   state->offset(), upkeepText(*state), "\n");
  }
  return text;
}

static std::string
blobsText(const char *what,
          const flatbuffers::Vector<flatbuffers::Offset<schema::Blob>> *blobs) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(blobs); ++i) {
    const schema::Blob *blob = blobs->Get(i);
    text += strCat(what, " ", blob->name()->string_view(), ": ",
                   tensorTypeName(blob->dtype(), blob->shape()), ", ",
                   blob->size(), " bytes at ", blob->offset(), " of segment ",
                   blob->segment());
    if (blob->format() != schema::BlobFormat::Elements)
      text += strCat(", ", formatName(blob->format()), " of ", blob->inputs(),
                     " inputs, group ", blob->group());
    text += "\n";
  }
  return text;
}

static std::string codeText(const schema::Artifact &a) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(a.segments()); ++i) {
    const schema::Segment *segment = a.segments()->Get(i);
    text += strCat(
        "segment ", i, ": ", schema::EnumNameSegmentKind(segment->kind()), ", ",
        segment->size(), " bytes at ", segment->offset(), " from the base\n");
  }
  for (uint32_t i = 0; i < vectorSize(a.kernels()); ++i) {
    const schema::Kernel *kernel = a.kernels()->Get(i);
    text +=
        strCat("kernel ", kernel->symbol()->string_view(), " (",
               orNone(kernel->kind()), ") ",
               kernel->image() < 0 ? "builtin" : "compiled", ": ",
               kernel->buffers(), " buffers, ", kernel->params(), " params",
               kernel->contract() ? ", contract" : "");
    if (kernel->config())
      text += strCat(", ", kernel->config()->string_view());
    text += "\n";
  }
  return text;
}

static std::string programsText(const schema::Artifact &a) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(a.programs()); ++i) {
    const schema::Program *p = a.programs()->Get(i);
    text +=
        strCat("program ", p->name()->string_view(), " (", kindName(p->kind()),
               "): batch ", p->batch(), ", k ", p->k(), ", chunk ", p->chunk(),
               ", modules ", p->modules(), ", ", vectorSize(p->commands()),
               " commands, arena ", p->arena_bytes(), " bytes\n");
  }
  return text;
}

std::string mtp::dumpText(const ArtifactFile &file) {
  const schema::Artifact &a = file.program();
  return headText(file) + envelopeText(a) + memoryText(a) + codeText(a) +
         blobsText("weight", a.weights()) +
         blobsText("constant", a.constants()) + programsText(a);
}
