//===- SemanticVerifier.cpp - Does the artifact make sense? ---------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <string_view>
#include <unordered_map>

using namespace mtp;

Status mtp::withPath(const Status &status, std::string_view step) {
  std::string_view message = status.message();
  size_t name = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (name == 0 || name == std::string_view::npos || message[name] != '[')
    return status.withContext(step);
  return Status(status.code(), strCat(step, ".", message));
}

/// Names that are printed and looked up: short, visible, no separators.
static bool isName(std::string_view name) {
  if (name.empty() || name.size() > 1024)
    return false;
  for (unsigned char c : name)
    if (c <= ' ' || c == 0x7f)
      return false;
  return true;
}

/// Fails when two entries of a vector have one name. `nameOf` gets an entry.
template <typename T, typename NameOf>
static Status verifyNames(const char *what,
                          const flatbuffers::Vector<flatbuffers::Offset<T>> *v,
                          NameOf nameOf) {
  std::unordered_map<std::string_view, uint32_t> seen;
  for (uint32_t i = 0; i < vectorSize(v); ++i) {
    std::string_view name = nameOf(v->Get(i));
    if (!isName(name))
      return dataLoss(strCat(what, "[", i,
                             "]: expected a visible name of 1 "
                             "to 1024 bytes"));
    auto [other, fresh] = seen.emplace(name, i);
    if (!fresh)
      return dataLoss(strCat(what, "[", i, "] and ", what, "[", other->second,
                             "] are both named '", name, "'"));
  }
  return okStatus();
}

static Status verifyAllNames(const schema::Artifact &artifact) {
  auto name = [](auto *entry) { return entry->name()->string_view(); };
  MTP_RETURN_IF_ERROR(verifyNames("caches", artifact.caches(), name));
  MTP_RETURN_IF_ERROR(verifyNames("states", artifact.states(), name));
  MTP_RETURN_IF_ERROR(verifyNames("weights", artifact.weights(), name));
  MTP_RETURN_IF_ERROR(verifyNames("constants", artifact.constants(), name));
  MTP_RETURN_IF_ERROR(verifyNames("programs", artifact.programs(), name));
  return verifyNames("kernels", artifact.kernels(), [](auto *kernel) {
    return kernel->symbol()->string_view();
  });
}

/// Bounds on the FlatBuffer's nesting and on the tables that are visited while
/// verifying it: a small file can otherwise name one table a billion times.
static constexpr uint32_t kMaxDepth = 16;
static constexpr uint32_t kMaxTables = 1 << 23;

Status mtp::verifyTables(std::span<const uint8_t> tables,
                         uint64_t segmentBytes) {
  flatbuffers::Verifier verifier(tables.data(), tables.size(), kMaxDepth,
                                 kMaxTables);
  if (!schema::VerifyArtifactBuffer(verifier))
    return dataLoss("the program is no valid FlatBuffer of kind 'MTPA'");
  return verifySemantics(*schema::GetArtifact(tables.data()), segmentBytes);
}

Status mtp::verifySemantics(const schema::Artifact &artifact,
                            uint64_t segmentBytes) {
  MTP_RETURN_IF_ERROR(verifyAllNames(artifact));
  MTP_RETURN_IF_ERROR(verifyStorage(artifact, segmentBytes));
  MTP_RETURN_IF_ERROR(verifyPrograms(artifact));
  return verifyEnvelope(artifact);
}
