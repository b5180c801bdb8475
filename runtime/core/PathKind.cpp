//===- PathKind.cpp - The kind of a path ----------------------------------===//

#include "runtime/core/PathKind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace mtp {

namespace fs = std::filesystem;

namespace {

/// Returns the first bytes of a file; fewer if it is shorter or cannot be read.
std::string readFront(const fs::path &path) {
  std::array<char, 64> bytes;
  std::ifstream stream(path, std::ios::binary);
  stream.read(bytes.data(), bytes.size());
  return std::string(bytes.data(), size_t(stream.gcount()));
}

bool hasExtension(const fs::path &path,
                  std::initializer_list<std::string_view> extensions) {
  std::string extension = path.extension().string();
  return std::ranges::find(extensions, extension) != extensions.end();
}

/// Whether a file begins as safetensors files do: eight bytes with the length
/// of a header, then an object.
bool isSafetensors(std::string_view front) {
  constexpr size_t kLength = 8;
  return front.size() > kLength && front[kLength] == '{' &&
         front.substr(5, 3) == std::string_view("\0\0\0", 3);
}

PathKind kindOfFile(const fs::path &path) {
  std::string bytes = readFront(path);
  std::string_view front = bytes;
  if (front.starts_with("GGUF"))
    return PathKind::Gguf;
  for (std::string_view magic : {"lmgg", "fmgg", "tjgg", "algg"})
    if (front.starts_with(magic))
      return PathKind::Ggml;
  if (front.starts_with("MTPC"))
    return PathKind::Artifact;
  if (front.starts_with("ML\xefR") || hasExtension(path, {".mlir"}))
    return PathKind::Module;
  if (isSafetensors(front))
    return PathKind::Safetensors;
  // A pickle, by itself or in an archive.
  bool isPickle = front.starts_with("PK\x03\x04") || front.starts_with("\x80");
  if (isPickle && hasExtension(path, {".bin", ".pt", ".pth", ".ckpt"}))
    return PathKind::PyTorch;
  size_t first = front.find_first_not_of(" \t\r\n");
  if (hasExtension(path, {".json"}) && first != front.npos &&
      front[first] == '{')
    return PathKind::Json;
  return hasExtension(path, {".gguf"}) ? PathKind::DamagedGguf : PathKind::File;
}

/// The files of a folder that decide its kind.
struct Contents {
  bool config = false, safetensors = false, pyTorch = false, gguf = false;
  bool adapter = false, snapshots = false;
};

Contents look(const fs::path &folder) {
  Contents contents;
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    bool isAdapters = name.starts_with("adapter_");
    contents.config |= name == "config.json" || name == "params.json";
    contents.adapter |= name == "adapter_config.json";
    contents.snapshots |= name == "snapshots";
    contents.gguf |= hasExtension(it->path(), {".gguf"});
    if (isAdapters)
      continue;
    contents.safetensors |= hasExtension(it->path(), {".safetensors"}) ||
                            name == "model.safetensors.index.json";
    contents.pyTorch |= hasExtension(it->path(), {".bin", ".pt", ".pth"});
  }
  return contents;
}

PathKind kindOfFolder(const fs::path &folder) {
  Contents has = look(folder);
  if (has.config && has.safetensors)
    return PathKind::Model;
  if (has.adapter)
    return PathKind::Adapter;
  if (has.gguf)
    return PathKind::GgufModel;
  if (has.config)
    return has.pyTorch ? PathKind::PyTorchModel : PathKind::Config;
  return has.snapshots ? PathKind::HubCache : PathKind::Folder;
}

/// A kind that a use refuses, with its description and the next step.
struct Refusal {
  PathKind kind;
  std::string_view what, step;
};

constexpr std::string_view kOriginal =
    "take the folder in Hugging Face's layout that it was made of";
constexpr std::string_view kConvert =
    "convert them with tools/mtp-import/convert_torch.py";
constexpr std::string_view kGiveFolder = "give the folder that it lies in";
constexpr std::string_view kNoGguf =
    "a .gguf file that does not begin with 'GGUF'";
constexpr std::string_view kFetch =
    "download it again; \"git lfs pull\" replaces a pointer of Git LFS";
constexpr std::string_view kMake = "mtp-import and mtpc make an artifact of it";

constexpr Refusal kImport[] = {
    {PathKind::Missing, "nothing there",
     "nothing is downloaded: give a folder on this machine"},
    {PathKind::Adapter, "an adapter of another model (adapter_config.json)",
     "merge it into its model first"},
    {PathKind::HubCache, "a hub's cache of a model",
     "give the revision's folder in snapshots"},
    {PathKind::Folder, "a folder without config.json and params.json",
     "give the folder that has one of them, or a GGUF file"},
    {PathKind::DamagedGguf, kNoGguf, kFetch},
    {PathKind::Ggml, "a GGML file, which is not read", kOriginal},
    {PathKind::Safetensors, "a file of weights", kGiveFolder},
    {PathKind::PyTorch, "a file of weights in PyTorch's format", kGiveFolder},
    {PathKind::Json, "a JSON file", kGiveFolder},
    {PathKind::Module, "a module", "it is imported already: mtpc compiles it"},
    {PathKind::Artifact, "an artifact",
     "it is compiled already: mtp-run runs it"},
    {PathKind::File, "a file", "give a model's folder or a GGUF file"},
    {PathKind::Other, "neither a file nor a folder", "give a model's folder"},
};

/// Additional refusals if weights are needed.
constexpr Refusal kWeights[] = {
    {PathKind::Config, "a folder without weights",
     "add model.safetensors, or shards with model.safetensors.index.json, or "
     "import the structure alone with mtp-import --no-weights"},
    {PathKind::PyTorchModel,
     "weights in PyTorch's format, which may hold code and are not read",
     kConvert},
};

constexpr Refusal kCompile[] = {
    {PathKind::Model, "a model's folder", "mtp-import makes a module of it"},
    {PathKind::Config, "a model's folder", "mtp-import makes a module of it"},
    {PathKind::PyTorchModel, "a folder of weights in PyTorch's format",
     "convert them with tools/mtp-import/convert_torch.py, then mtp-import "
     "makes a module of the folder"},
    {PathKind::GgufModel, "a folder of GGUF files",
     "mtp-import makes a module of it"},
    {PathKind::Adapter, "an adapter of another model (adapter_config.json)",
     "merge it into its model first"},
    {PathKind::HubCache, "a hub's cache of a model",
     "mtp-import makes a module of a revision's folder in snapshots"},
    {PathKind::Folder, "a folder", "give a module that mtp-import wrote"},
    {PathKind::Gguf, "a GGUF file", "mtp-import makes a module of it"},
    {PathKind::DamagedGguf, kNoGguf, kFetch},
    {PathKind::Ggml, "a GGML file, which is not read", kOriginal},
    {PathKind::Safetensors, "a file of weights",
     "mtp-import makes a module of its folder"},
    {PathKind::PyTorch, "a file of weights in PyTorch's format",
     "mtp-import makes a module of a folder with weights in safetensors"},
    {PathKind::Json, "a JSON file", "mtp-import makes a module of its folder"},
    {PathKind::Artifact, "an artifact",
     "it is compiled already: mtp-run runs it"},
};

constexpr Refusal kRun[] = {
    {PathKind::Model, "a model's folder", kMake},
    {PathKind::Config, "a model's folder", kMake},
    {PathKind::PyTorchModel, "a folder of weights in PyTorch's format",
     "convert them with tools/mtp-import/convert_torch.py, then mtp-import and "
     "mtpc make an artifact of the folder"},
    {PathKind::GgufModel, "a folder of GGUF files", kMake},
    {PathKind::Adapter, "an adapter of another model (adapter_config.json)",
     "merge it into its model first"},
    {PathKind::HubCache, "a hub's cache of a model",
     "mtp-import and mtpc make an artifact of a revision's folder in "
     "snapshots"},
    {PathKind::Folder, "a folder", "give a file that mtpc wrote"},
    {PathKind::Gguf, "a GGUF file", kMake},
    {PathKind::DamagedGguf, kNoGguf, kFetch},
    {PathKind::Ggml, "a GGML file, which is not read", kOriginal},
    {PathKind::Safetensors, "a file of weights",
     "mtp-import and mtpc make an artifact of its folder"},
    {PathKind::PyTorch, "a file of weights in PyTorch's format",
     "mtp-import and mtpc make an artifact of a folder with weights in "
     "safetensors"},
    {PathKind::Json, "a JSON file",
     "mtp-import and mtpc make an artifact of its folder"},
    {PathKind::Module, "a module", "mtpc makes an artifact of it"},
};

template <size_t N>
const Refusal *find(const Refusal (&refusals)[N], PathKind kind) {
  const Refusal *found = std::ranges::find(refusals, kind, &Refusal::kind);
  return found == std::end(refusals) ? nullptr : found;
}

/// Returns the refusal of a tool that runs an artifact or compiles a model: of
/// the import, except that only the loader judges other files.
const Refusal *findStartRefusal(PathKind kind) {
  switch (kind) {
  case PathKind::Missing:
  case PathKind::Artifact:
  case PathKind::File:
  case PathKind::Other:
    return nullptr;
  case PathKind::Module:
    return find(kRun, kind);
  default:
    break;
  }
  const Refusal *refusal = find(kWeights, kind);
  return refusal ? refusal : find(kImport, kind);
}

const Refusal *findRefusal(PathKind kind, PathUse use) {
  switch (use) {
  case PathUse::Import:
    if (const Refusal *refusal = find(kWeights, kind))
      return refusal;
    return find(kImport, kind);
  case PathUse::ImportConfig:
    return find(kImport, kind);
  case PathUse::Compile:
    return find(kCompile, kind);
  case PathUse::Start:
    return findStartRefusal(kind);
  case PathUse::Run:
    break;
  }
  return find(kRun, kind);
}

std::string_view wanted(PathUse use) {
  if (use == PathUse::Run)
    return "an artifact";
  if (use == PathUse::Start)
    return "a model or an artifact";
  return use == PathUse::Compile ? "a module" : "a model's folder";
}

} // namespace

PathKind kindOf(const std::string &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return PathKind::Missing;
  if (fs::is_directory(status))
    return kindOfFolder(path);
  return fs::is_regular_file(status) ? kindOfFile(path) : PathKind::Other;
}

Status checkPath(const std::string &path, PathUse use) {
  PathKind kind = kindOf(path);
  const Refusal *refusal = findRefusal(kind, use);
  if (!refusal)
    return okStatus();
  std::string text = "expected " + std::string(wanted(use)) + " at \"" + path +
                     "\", got " + std::string(refusal->what) + "; " +
                     std::string(refusal->step);
  return kind == PathKind::Missing ? notFound(text) : unimplemented(text);
}

} // namespace mtp
