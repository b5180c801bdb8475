//===- DumpText.cpp - An artifact as text ---------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/WeightFormat.h"
#include "tools/mtp-dump/Dump.h"

using namespace mtp;

static std::string_view orNone(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view("none");
}

static std::string headText(const ArtifactFile &file) {
  const FileHeader &header = file.header();
  return strCat("format ", versionText(header.version), ", ", header.fileSize,
                " bytes, program ", header.programSize, " bytes at ",
                header.programOffset, "\nproducer ", file.artifact().producer,
                "\nmodel ", orNone(file.artifact().model), "\n");
}

/// Describes how rounds draft and accept, if the file says so.
static std::string draftingText(const Artifact &a) {
  auto orUnsaid = [](std::string_view text) {
    return text.empty() ? std::string_view("not said") : text;
  };
  return strCat("method ", orUnsaid(a.method), ", rule ", orUnsaid(a.rule),
                a.isLossy ? ", lossy" : "", "\n");
}

static std::string targetText(const Plan &plan) {
  std::string text = strCat("target ", plan.target->arch()->string_view(),
                            ", cpu ", orNone(plan.target->cpu()), ", features");
  for (uint32_t i = 0; i < vectorSize(plan.target->features()); ++i)
    text += strCat(" ", plan.target->features()->Get(i)->string_view());
  return text + "\n";
}

/// Returns the number of nodes of a tree with siblings.
static std::string nodesText(const schema::Envelope &e) {
  uint32_t nodes = mostNodes(e);
  return nodes == e.max_k() + 1 ? "" : strCat(", nodes ", nodes);
}

/// Returns the parents of a static tree's nodes.
static std::string treeText(const schema::Envelope &e) {
  std::string text;
  for (uint32_t node = 0; node < vectorSize(e.tree()); ++node)
    text += strCat(node == 0 ? ", tree " : " ", e.tree()->Get(node));
  return text;
}

/// Returns the number of rows that a round with a budget verifies.
static std::string rowsText(const schema::Envelope &e) {
  return e.max_rows() == 0 ? "" : strCat(", rows ", e.max_rows());
}

static std::string envelopeText(const Artifact &a) {
  const schema::Envelope *e = a.envelope;
  if (!e)
    return "envelope none\n";
  std::string text = strCat(
      "envelope k ", e->max_k(), ", batch ", e->max_batch(), ", context ",
      e->max_context(), ", chunk ", e->prefill_chunk(), ", page ",
      e->page_tokens(), " tokens, vocabulary ", e->vocab(), ", places ahead ",
      a.ahead, nodesText(*e), treeText(*e), rowsText(*e), "\n");
  const schema::Generation *g = a.generation;
  if (!g)
    return text;
  text += strCat("generation bos ", g->bos(), ", eos");
  for (uint32_t i = 0; i < vectorSize(g->eos()); ++i)
    text += strCat(" ", g->eos()->Get(i));
  return text + strCat(", temperature ", g->temperature(), ", top-k ",
                       g->top_k(), ", top-p ", g->top_p(), ", min-p ",
                       g->min_p(), ", repetition penalty ",
                       g->repetition_penalty(), "\n");
}

static std::string chatText(const Artifact &a) {
  std::string text;
  if (!a.chat)
    return text;
  for (const schema::ChatTemplate *one : *a.chat->templates())
    text += strCat("chat template ", one->name()->string_view(), ": ",
                   one->source()->size(), " bytes\n");
  for (uint32_t i = 0; i < vectorSize(a.chat->tokens()); ++i)
    text +=
        strCat("chat token ", a.chat->tokens()->Get(i)->name()->string_view(),
               ": ", a.chat->tokens()->Get(i)->text()->string_view(), "\n");
  return text;
}

std::string mtp::chatTemplateText(const Artifact &artifact) {
  std::string text;
  for (const schema::ChatTemplate *one : *artifact.chat->templates()) {
    if (artifact.chat->templates()->size() > 1)
      text += strCat(text.empty() ? "" : "\n", "--- ",
                     one->name()->string_view(), "\n");
    text += one->source()->string_view();
  }
  return text;
}

/// Describes a state: ", shared", ", init -1, rebuild tokens".
static std::string ruleText(const StateRule &rule) {
  std::string text = rule.shared ? ", shared" : "";
  if (rule.init != 0)
    text += strCat(", init ", rule.init);
  if (rule.shared)
    return text;
  if (rule.input)
    return text + ", input of requests";
  text += strCat(", rebuild ", rebuildName(rule.rebuild));
  if (rule.rebuild == schema::Rebuild::Rows)
    text += strCat(" ", rule.rows);
  return text;
}

static std::string sharedText(const Artifact &a) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(a.caches); ++i) {
    const schema::Cache *cache = a.caches->Get(i);
    uint64_t token = uint64_t(cache->layers()) * cache->entry_width() *
                     dtypeBytes(cache->dtype());
    text += strCat("cache ", cache->name()->string_view(), ": ",
                   cache->layers(), " layers of ", cache->entry_width(), "x",
                   dtypeName(cache->dtype()), ", ", token, " bytes a token\n");
  }
  for (const State &state : a.states)
    text += strCat("state ", state.name, ": ",
                   tensorTypeName(state.dtype, state.shape),
                   ruleText(state.rule), "\n");
  for (uint32_t i = 0; i < vectorSize(a.segments); ++i) {
    const schema::Segment *segment = a.segments->Get(i);
    text += strCat(
        "segment ", i, ": ", schema::EnumNameSegmentKind(segment->kind()), ", ",
        segment->size(), " bytes at ", segment->offset(), " from the base\n");
  }
  return text;
}

static std::string memoryText(const Plan &plan) {
  return strCat("memory arena ", plan.arenaBytes, ", states ", plan.stateBytes,
                ", scratch ", plan.scratchBytes, " bytes a thread\n");
}

/// Returns the scales and offsets of a blob if they are not f32 and none.
static std::string scalesText(const schema::Blob &blob) {
  std::string text;
  if (blob.scales() != schema::BlobScales::F32)
    text = strCat(", ", kWeightScales[unsigned(blob.scales())]);
  return blob.has_offset() ? text + ", offset" : text;
}

static std::string blobsText(const char *what,
                             const Tables<schema::Blob> *blobs) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(blobs); ++i) {
    const schema::Blob *blob = blobs->Get(i);
    text +=
        strCat(what, " ", blob->name()->string_view(), ": ",
               tensorTypeName(blob->dtype(), blob->shape()), ", ", blob->size(),
               " bytes at ", blob->offset(), " of segment ", blob->segment());
    if (blob->format() != schema::BlobFormat::Elements)
      text += strCat(", ", formatName(blob->format()), " of ", blob->inputs(),
                     " inputs, group ", blob->group(), scalesText(*blob));
    text += "\n";
  }
  return text;
}

static std::string imageText(const schema::Image &image) {
  std::string text =
      strCat(imageFormatName(image.format()), " in segment ", image.segment());
  if (image.ptx() != -1)
    text += strCat(", ptx in segment ", image.ptx());
  return text;
}

/// Describes a GPU kernel: ", 128 threads, 4096 bytes shared, takes active
/// rows".
static std::string launchText(const schema::CudaLaunch *launch) {
  if (!launch)
    return "";
  return strCat(", ", launch->threads(), " threads, ", launch->shared_bytes(),
                " bytes shared",
                launch->takes_live() ? ", takes active rows" : "");
}

static std::string codeText(const Plan &plan) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(plan.images); ++i)
    text += strCat("image ", i, ": ", imageText(*plan.images->Get(i)), "\n");
  for (uint32_t i = 0; i < vectorSize(plan.kernels); ++i) {
    const schema::Kernel *kernel = plan.kernels->Get(i);
    text += strCat("kernel ", kernel->symbol()->string_view(), " (",
                   orNone(kernel->kind()), ") ",
                   kernel->gemm()        ? "library"
                   : kernel->image() < 0 ? "builtin"
                                         : "compiled",
                   ": ", kernel->buffers(), " buffers, ", kernel->params(),
                   " params", kernel->contract() ? ", contract" : "",
                   launchText(kernel->launch()));
    if (kernel->config())
      text += strCat(", ", kernel->config()->string_view());
    text += "\n";
  }
  return text;
}

static std::string programsText(const Plan &plan) {
  std::string text;
  for (const Program &program : plan.programs) {
    std::string shape = shapeText(program);
    text +=
        strCat("program ", program.name, " (", kindName(program.kind),
               "): ", shape, shape.empty() ? "" : ", ", program.commands.size(),
               " commands, arena ", countText(program.arenaBytes), " bytes\n");
  }
  return text;
}

std::string mtp::dumpText(const ArtifactFile &file) {
  const Artifact &a = file.artifact();
  std::string text = headText(file) + envelopeText(a) + draftingText(a) +
                     chatText(a) + sharedText(a);
  for (const Plan &plan : a.plans)
    text += targetText(plan) + memoryText(plan) + codeText(plan) +
            blobsText("weight", plan.weights) +
            blobsText("constant", plan.constants) + programsText(plan);
  return text;
}
