//===- BindModel.cpp - Models, and their way from files -------------------===//

#include "mtp/chat.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/PathKind.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/TreeChoice.h"
#include "tools/mtp-dump/Dump.h"
#include "tools/mtp-dump/DumpProfile.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Gil.h"
#include "tools/python/src/Handles.h"
#include "tools/python/src/Values.h"
#include "tools/start/StartModel.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;
using namespace nb::literals;

static DeviceKind deviceOf(std::string_view name) {
  if (name == "auto")
    return DeviceKind::Auto;
  if (name == "cpu")
    return DeviceKind::Cpu;
  if (name == "cuda")
    return DeviceKind::Cuda;
  throw StatusError(invalidArgument(
      strCat("device: expected 'auto', 'cpu' or 'cuda', got '", name, "'")));
}

static LoadOptions loadOptions(const std::string &device, uint32_t gpu,
                               bool copy, bool verify,
                               const std::string &profile) {
  LoadOptions options;
  options.device = deviceOf(device);
  options.gpu = gpu;
  options.copy = copy;
  options.checkAllHashes = verify;
  options.profile = profile;
  return options;
}

static ModelHandle loadModel(const std::string &path, const std::string &device,
                             uint32_t gpu, bool copy, bool verify,
                             const std::string &profile) {
  LoadOptions options = loadOptions(device, gpu, copy, verify, profile);
  WithoutGil unlocked;
  return {take(LoadedModel::load(path, options, std::nullopt))};
}

/// Returns a StartHost that passes lines to Python and lets signals end a
/// program.
static start::StartHost hostOf(const std::string &programs,
                               const nb::callable &onLine, Signals &signals,
                               std::exception_ptr &error) {
  start::StartHost host;
  host.programs = programs;
  host.onLine = [&](const std::string &line) {
    if (WithoutGil::mustEnd())
      return;
    nb::gil_scoped_acquire gil;
    try {
      if (!error)
        onLine(line);
    } catch (const nb::python_error &) {
      error = std::current_exception();
    }
  };
  host.isCancelled = [&] { return error || signals.haveRaised(); };
  return host;
}

/// Finds or compiles the artifact of a model's files, and loads it.
static std::pair<ModelHandle, std::string>
startModel(const std::string &path, const start::StartOptions &options,
           const std::string &programs, const nb::callable &onLine,
           const LoadOptions &loading) {
  Signals signals;
  std::exception_ptr error;
  start::StartHost host = hostOf(programs, onLine, signals, error);
  ModelHandle handle;
  std::string artifact;
  {
    WithoutGil unlocked;
    Status status = start::checkStart(path, options);
    if (status.isOk()) {
      auto started = start::findArtifact("mtpc", path, options, &host);
      status = started.status();
      if (started) {
        artifact = started->path;
        auto loaded =
            LoadedModel::load(artifact, loading, std::move(started->cached));
        status = loaded.status();
        if (loaded)
          handle.loaded = std::move(*loaded);
      }
    }
    signals.rethrow();
    if (error)
      std::rethrow_exception(error);
    check(status);
  }
  return {std::move(handle), std::move(artifact)};
}

/// Returns whether a file begins as a profile does.
static bool isProfile(const std::string &path) {
  auto file = MappedFile::open(path);
  return file && profile::isProfile({(*file)->data(), (*file)->size()});
}

/// Returns whether mtp-import can arrange drafts by a profile, and the profile
/// is of a tree.
static bool measuresTree(const std::string &path) {
  WithoutGil unlocked;
  profile::Profile profile = take(profile::loadProfile(path));
  auto drafts = profile::MeasuredDrafts::of(profile);
  return drafts && !drafts->isChain();
}

static std::string dumpProfile(const std::string &path, bool isPlain,
                               bool json) {
  if (!isPlain)
    throw StatusError(invalidArgument(
        strCat(path, ": expected an artifact with 'program' or 'commands', got "
                     "a profile")));
  profile::Profile profile = take(profile::loadProfile(path));
  return json ? profileJson(profile) : profileText(profile);
}

static std::string dump(const std::string &path, const std::string &program,
                        bool json, bool commands) {
  WithoutGil unlocked;
  if (isProfile(path))
    return dumpProfile(path, program.empty() && !commands, json);
  std::shared_ptr<const ArtifactFile> file =
      take(ArtifactFile::open(path, HashCheck::All));
  if (!program.empty())
    return take(dumpProgram(*file, program));
  return json ? dumpJson(*file, commands) : dumpText(*file);
}

/// Returns what compile() needs to know of a path.
static const char *pathKindName(const std::string &path) {
  PathKind kind = kindOf(path);
  if (kind == PathKind::Artifact)
    return "artifact";
  if (kind == PathKind::Module)
    return "module";
  return start::isModelKind(kind) ? "model" : "other";
}

static nb::object envelopeOf(const ModelHandle &handle) {
  const EnvelopeInfo *e = handle.loaded->model()->envelope();
  if (!e)
    return nb::none();
  nb::dict d;
  d["max_k"] = e->maxK;
  d["max_batch"] = e->maxBatch;
  d["max_context"] = e->maxContext;
  d["prefill_chunk"] = e->prefillChunk;
  d["prefill_chunks"] = nb::tuple(nb::cast(e->prefillChunks));
  d["page_tokens"] = e->pageTokens;
  d["vocab"] = e->vocab;
  d["modules"] = e->modules;
  d["max_nodes"] = e->maxNodes;
  d["max_rows"] = e->maxRows;
  return d;
}

static nb::dict generationOf(const ModelHandle &handle) {
  const GenerationInfo &g = handle.loaded->model()->generation();
  nb::dict d;
  d["bos"] = nb::cast(g.bos);
  d["add_bos"] = g.addBos;
  d["eos"] = nb::tuple(nb::cast(g.eos));
  d["temperature"] = g.temperature;
  d["top_k"] = g.topK;
  d["top_p"] = g.topP;
  d["min_p"] = g.minP;
  d["repetition_penalty"] = g.repetitionPenalty;
  return d;
}

static nb::list outputsOf(const ModelHandle &handle) {
  nb::list list;
  for (const RequestOutputType &output :
       handle.loaded->model()->requestOutputs()) {
    nb::tuple type = toPython(output.row);
    list.append(
        nb::make_tuple(output.name, type[0], type[1], output.isPerToken));
  }
  return list;
}

static nb::tuple functionType(const ModelHandle &handle,
                              const std::string &name) {
  const Model &model = *handle.loaded->model();
  return nb::make_tuple(toPython(take(model.functionInputs(name))),
                        toPython(take(model.functionOutputs(name))));
}

static void bindStart(nb::module_ &module) {
  module.def("load", &loadModel, "path"_a, "device"_a, "gpu"_a, "copy"_a,
             "verify"_a, "profile"_a);
  module.def(
      "start",
      [](const std::string &path, const std::string &drafter,
         std::optional<uint32_t> maxContext, uint32_t maxBatch,
         const std::string &quantize, const std::string &importFlags,
         const std::string &compileFlags, const std::string &programs,
         const nb::callable &onLine, const std::string &device, uint32_t gpu,
         const std::string &profile) {
        start::StartOptions options;
        options.drafter = drafter;
        options.maxContext = maxContext;
        options.maxBatch = maxBatch;
        options.quantize = quantize;
        options.import = importFlags;
        options.compile = compileFlags;
        auto [handle, artifact] =
            startModel(path, options, programs, onLine,
                       loadOptions(device, gpu, false, false, profile));
        return nb::make_tuple(std::move(handle), artifact);
      },
      "path"_a, "drafter"_a, "max_context"_a.none(), "max_batch"_a,
      "quantize"_a, "import_flags"_a, "compile_flags"_a, "programs"_a,
      "on_line"_a, "device"_a, "gpu"_a, "profile"_a);
  module.def("dump", &dump, "path"_a, "program"_a, "json"_a, "commands"_a);
  module.def("kind", &pathKindName, "path"_a);
  module.def("measures_tree", &measuresTree, "profile"_a);
}

static nb::object optionalText(std::string_view text) {
  return text.empty() ? nb::none()
                      : nb::object(nb::str(text.data(), text.size()));
}

void python::bindModel(nb::module_ &module) {
  bindStart(module);
  using Handle = const ModelHandle &;
  nb::class_<ModelHandle>(module, "Model")
      .def_prop_ro("name", [](Handle m) { return m.loaded->model()->name(); })
      .def_prop_ro("producer",
                   [](Handle m) { return m.loaded->model()->producer(); })
      .def_prop_ro(
          "method",
          [](Handle m) { return optionalText(m.loaded->model()->method()); })
      .def_prop_ro(
          "rule",
          [](Handle m) { return optionalText(m.loaded->model()->rule()); })
      .def_prop_ro("is_lossy",
                   [](Handle m) { return m.loaded->model()->isLossy(); })
      .def_prop_ro("device",
                   [](Handle m) {
                     return m.loaded->model()->device() == DeviceKind::Cuda
                                ? "cuda"
                                : "cpu";
                   })
      .def_prop_ro("gpu", [](Handle m) { return m.loaded->model()->gpu(); })
      .def_prop_ro("shows_drafts",
                   [](Handle m) { return m.loaded->model()->showsDrafts(); })
      .def_prop_ro("has_logit_rules",
                   [](Handle m) { return m.loaded->model()->hasLogitRules(); })
      .def_prop_ro("masks_tokens",
                   [](Handle m) { return m.loaded->model()->masksTokens(); })
      .def_prop_ro("scores_prompts",
                   [](Handle m) { return m.loaded->model()->scoresPrompts(); })
      .def_prop_ro(
          "has_tokenizer",
          [](Handle m) { return !m.loaded->model()->tokenizer().empty(); })
      .def_prop_ro("envelope", &envelopeOf)
      .def_prop_ro("generation", &generationOf)
      .def_prop_ro("functions",
                   [](Handle m) { return m.loaded->model()->functions(); })
      .def_prop_ro(
          "request_inputs",
          [](Handle m) { return toPython(m.loaded->model()->requestInputs()); })
      .def_prop_ro("request_outputs", &outputsOf)
      .def("function_type", &functionType, "name"_a);
}
