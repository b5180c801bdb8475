//===- ProfileFile.cpp - The bytes of a profile ---------------------------===//

#include "runtime/profile/ProfileFile.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/CheckProfile.h"
#include "runtime/schema/mtp_profile_generated.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mtp;
using namespace mtp::profile;

static constexpr char kMagic[4] = {'M', 'T', 'P', 'F'};

/// Returns the seal of a header, whose own seal counts for nothing, and the
/// FlatBuffer after it.
static uint64_t sealOf(const ProfileHeader &header,
                       std::span<const uint8_t> tables) {
  uint64_t seed = XXH3_64bits(&header, offsetof(ProfileHeader, seal));
  return XXH3_64bits_withSeed(tables.data(), tables.size(), seed);
}

//===----------------------------------------------------------------------===//
// Write
//===----------------------------------------------------------------------===//

std::vector<uint8_t> profile::frameTables(std::span<const uint8_t> tables) {
  ProfileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.bytes = tables.size();
  header.seal = sealOf(header, tables);
  std::vector<uint8_t> bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  bytes.insert(bytes.end(), tables.begin(), tables.end());
  return bytes;
}

using Builder = flatbuffers::FlatBufferBuilder;

static auto writeOutcomes(Builder &to, const Outcomes &of) {
  return schema::CreateProfileOutcomesDirect(to, of.isSampled, of.context,
                                             &of.tried, &of.accepted);
}

static auto writeCost(Builder &to, const Cost &of) {
  return schema::CreateProfileCost(to, schema::ProfileWork(of.work), of.program,
                                   of.batch, of.k, of.rows, of.positions,
                                   of.lower, of.median, of.upper, of.count,
                                   of.nodes, of.padding);
}

/// Writes a list by a function for its elements.
template <typename T, typename WriteT>
static auto writeAll(Builder &to, const std::vector<T> &values, WriteT write) {
  std::vector<decltype(write(to, values[0]))> offsets;
  offsets.reserve(values.size());
  for (const T &value : values)
    offsets.push_back(write(to, value));
  return to.CreateVector(offsets);
}

static auto writeAlternative(Builder &to, const Alternative &of) {
  auto tunable = to.CreateString(of.tunable);
  return schema::CreateProfileAlternative(
      to, tunable, of.value, schema::ProfileWork(of.work), of.batch, of.k,
      of.rows, of.positions, of.ratio, of.error, of.pairs);
}

static auto writeGemm(Builder &to, const GemmChoice &of) {
  return schema::CreateProfileGemmDirect(to, of.version, of.chip.c_str(),
                                         of.rows, of.outputs, of.inputs,
                                         of.workspace, &of.words);
}

static auto writeLaunch(Builder &to, const LaunchCost &of) {
  return schema::CreateProfileLaunch(to, of.program, of.batch, of.k, of.rounds,
                                     of.positions, of.lower, of.median,
                                     of.upper, of.count);
}

static auto writeMachine(Builder &to, const MachineCosts &of) {
  auto name = to.CreateString(of.name);
  auto costs = writeAll(to, of.costs, writeCost);
  auto alternatives = writeAll(to, of.alternatives, writeAlternative);
  auto gemms = writeAll(to, of.gemms, writeGemm);
  auto launches = writeAll(to, of.launches, writeLaunch);
  return schema::CreateProfileMachine(
      to, name, of.threads, of.day, of.isBusy, costs, alternatives, gemms,
      of.gpu.driver, of.gpu.clock, of.gpu.memoryClock, launches);
}

/// Writes the outcomes of nodes.
static auto writeNodes(Builder &to, const NodeOutcomes &of) {
  std::vector<flatbuffers::Offset<schema::ProfileNode>> nodes;
  for (const auto &[path, count] : of.counts)
    nodes.push_back(schema::CreateProfileNodeDirect(to, &path, count.tried,
                                                    count.accepted));
  return to.CreateVector(nodes);
}

static auto writeKind(Builder &to, const KindOutcomes &of) {
  return schema::CreateProfileKindDirect(
      to, of.name.c_str(), &of.outcomes.tried, &of.outcomes.accepted);
}

static auto writeTokens(Builder &to, const TokenCounts &of) {
  std::vector<schema::ProfileToken> tokens;
  for (const auto &[token, count] : of.writable().counts)
    tokens.emplace_back(token, count.output, count.drafted, count.accepted);
  return to.CreateVectorOfStructs(tokens);
}

/// Writes the counts of all confidences, none if there are no outcomes.
static auto
writeConfidence(Builder &to, const ConfidenceOutcomes &of,
                const std::array<uint64_t, kConfidenceBuckets> &is) {
  return to.CreateVector(is.data(), of.isEmpty() ? 0 : is.size());
}

static std::vector<schema::ProfileRounds> roundsOf(const Load &load) {
  std::vector<schema::ProfileRounds> rounds;
  for (const auto &[shape, count] : load.rounds)
    rounds.emplace_back(shape.first, shape.second, count);
  return rounds;
}

std::vector<uint8_t> profile::writeProfile(const Profile &profile) {
  Builder to;
  const ModelKey &key = profile.model;
  auto model = schema::CreateProfileModelDirect(
      to, key.name.c_str(), key.weights, key.tokenizer, key.drafter.c_str());
  auto check = writeOutcomes(to, profile.check);
  auto outcomes = writeAll(to, profile.outcomes, writeOutcomes);
  auto machines = writeAll(to, profile.machines, writeMachine);
  const Load &load = profile.load;
  std::vector<schema::ProfileRounds> rounds = roundsOf(load);
  auto used = schema::CreateProfileLoadDirect(
      to, &load.slots, &load.contexts, &load.prompts, &rounds, &load.outputs);
  auto nodes = writeNodes(to, profile.nodes);
  auto kinds = writeAll(to, profile.kinds, writeKind);
  const ConfidenceOutcomes &confidence = profile.confidence;
  auto tried = writeConfidence(to, confidence, confidence.tried);
  auto accepted = writeConfidence(to, confidence, confidence.accepted);
  auto tokens = writeTokens(to, profile.tokens);
  to.Finish(schema::CreateProfile(to, model, check, outcomes, machines, used,
                                  nodes, kinds, tried, accepted, tokens,
                                  profile.head.vocab, profile.head.share),
            schema::ProfileIdentifier());
  return frameTables({to.GetBufferPointer(), to.GetSize()});
}

uint64_t profile::hashOf(const Profile &profile) {
  std::vector<uint8_t> bytes = writeProfile(profile);
  return XXH3_64bits(bytes.data(), bytes.size());
}

//===----------------------------------------------------------------------===//
// Read
//===----------------------------------------------------------------------===//

bool profile::isProfile(std::span<const uint8_t> bytes) {
  return bytes.size() >= sizeof(kMagic) &&
         std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) == 0;
}

/// Checks everything around the FlatBuffer, and returns the FlatBuffer.
static Result<std::span<const uint8_t>>
checkFront(std::span<const uint8_t> bytes) {
  ProfileHeader header;
  if (bytes.size() > kMostBytes)
    return dataLoss(strCat("size: expected at most ", kMostBytes,
                           " bytes, got ", bytes.size()));
  if (bytes.size() < sizeof(header))
    return dataLoss(strCat("size: expected at least ", sizeof(header),
                           " bytes of header, got ", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!isProfile(bytes))
    return dataLoss("magic: expected a profile, which starts with 'MTPF'");
  if (header.version != kVersion)
    return failedPrecondition(strCat("version: expected ", kVersion, ", got ",
                                     header.version,
                                     "; write the profile again"));
  std::span<const uint8_t> tables = bytes.subspan(sizeof(header));
  if (header.bytes != tables.size())
    return dataLoss(strCat("bytes: expected ", header.bytes,
                           " after the header, got ", tables.size()));
  if (header.seal != sealOf(header, tables))
    return dataLoss("seal: the bytes of header and tables do not match it");
  return tables;
}

static std::string textOf(const flatbuffers::String &text) {
  return std::string(text.string_view());
}

/// Copies a list, which may be null. Its bytes may lie at any address: the
/// verifier does not check the alignment of elements.
static std::vector<uint64_t>
numbersOf(const flatbuffers::Vector<uint64_t> *numbers) {
  std::vector<uint64_t> all(numbers ? numbers->size() : 0);
  if (!all.empty())
    std::memcpy(all.data(), numbers->Data(), all.size() * sizeof(all[0]));
  return all;
}

static Outcomes readOutcomes(const schema::ProfileOutcomes &of) {
  Outcomes outcomes;
  outcomes.isSampled = of.sampled();
  outcomes.context = of.context();
  outcomes.tried = numbersOf(of.tried());
  outcomes.accepted = numbersOf(of.accepted());
  return outcomes;
}

static Cost readCost(const schema::ProfileCost &of) {
  return {Work(of.work()), of.program(),   of.batch(), of.k(),
          of.rows(),       of.positions(), of.lower(), of.median(),
          of.upper(),      of.count(),     of.nodes(), of.padding()};
}

/// Reads a list, which may be null, by a function for its elements.
template <typename T, typename ReadT>
static auto readAll(const flatbuffers::Vector<flatbuffers::Offset<T>> *tables,
                    ReadT read) {
  std::vector<decltype(read(*tables->Get(0)))> all;
  for (uint32_t i = 0; tables && i < tables->size(); ++i)
    all.push_back(read(*tables->Get(i)));
  return all;
}

static Alternative readAlternative(const schema::ProfileAlternative &of) {
  return {textOf(*of.tunable()),
          of.value(),
          Work(of.work()),
          of.batch(),
          of.k(),
          of.rows(),
          of.positions(),
          of.ratio(),
          of.error(),
          of.pairs()};
}

static GemmChoice readGemm(const schema::ProfileGemm &of) {
  return {of.version(),         textOf(*of.chip()), of.rows(),
          of.outputs(),         of.inputs(),        of.workspace(),
          numbersOf(of.words())};
}

static LaunchCost readLaunch(const schema::ProfileLaunch &of) {
  return {of.program(), of.batch(),  of.k(),     of.rounds(), of.positions(),
          of.lower(),   of.median(), of.upper(), of.count()};
}

static MachineCosts readMachine(const schema::ProfileMachine &of) {
  return {textOf(*of.name()),
          of.threads(),
          of.day(),
          of.busy(),
          readAll(of.costs(), readCost),
          readAll(of.alternatives(), readAlternative),
          readAll(of.gemms(), readGemm),
          {of.driver(), of.clock(), of.memory_clock()},
          readAll(of.launches(), readLaunch)};
}

static KindOutcomes readKind(const schema::ProfileKind &of) {
  KindOutcomes kind{textOf(*of.name()), {}};
  kind.outcomes.tried = numbersOf(of.tried());
  kind.outcomes.accepted = numbersOf(of.accepted());
  return kind;
}

static NodeOutcomes readNodes(const schema::Profile &root) {
  NodeOutcomes nodes;
  for (uint32_t i = 0; root.nodes() && i < root.nodes()->size(); ++i) {
    const schema::ProfileNode &node = *root.nodes()->Get(i);
    NodeOutcomes::Path path;
    if (node.path())
      path.assign(node.path()->begin(), node.path()->end());
    nodes.counts[path] = {node.tried(), node.accepted()};
  }
  return nodes;
}

/// Reads the outcomes by confidence, whose lists have been checked.
static ConfidenceOutcomes readConfidence(const schema::Profile &root) {
  ConfidenceOutcomes of;
  std::ranges::copy(numbersOf(root.confidence_tried()), of.tried.begin());
  std::ranges::copy(numbersOf(root.confidence_accepted()), of.accepted.begin());
  return of;
}

static TokenCounts readTokens(const schema::Profile &root) {
  TokenCounts tokens;
  if (!root.tokens())
    return tokens;
  for (uint32_t i = 0; i < root.tokens()->size(); ++i) {
    // The element may lie at any address.
    schema::ProfileToken token;
    std::memcpy(&token, root.tokens()->Data() + i * sizeof(token),
                sizeof(token));
    tokens.counts.insert_or_assign(
        tokens.counts.end(), token.token(),
        TokenCounts::Counts{token.output(), token.drafted(), token.accepted()});
  }
  return tokens;
}

/// Reads the numbers of rounds.
static std::map<std::pair<uint32_t, uint32_t>, uint64_t>
readRounds(const schema::ProfileLoad &load) {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> rounds;
  for (uint32_t i = 0; load.rounds() && i < load.rounds()->size(); ++i) {
    // The element may lie at any address.
    schema::ProfileRounds one;
    std::memcpy(&one, load.rounds()->Data() + i * sizeof(one), sizeof(one));
    rounds[{one.slots(), one.k()}] = one.count();
  }
  return rounds;
}

Result<profile::Profile> profile::readProfile(std::span<const uint8_t> bytes) {
  MTP_ASSIGN_OR_RETURN(std::span<const uint8_t> tables, checkFront(bytes));
  // FlatBuffers must be aligned.
  std::vector<uint64_t> aligned((tables.size() + 7) / 8);
  if (!tables.empty())
    std::memcpy(aligned.data(), tables.data(), tables.size());
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(aligned.data()), tables.size());
  if (!schema::VerifyProfileBuffer(verifier))
    return dataLoss("tables: expected a FlatBuffer of kind 'MTPP'");
  const schema::Profile &root = *schema::GetProfile(aligned.data());
  MTP_RETURN_IF_ERROR(checkCounts(root));
  MTP_RETURN_IF_ERROR(checkOrder(root));
  Profile profile;
  profile.model = {textOf(*root.model()->name()), root.model()->weights(),
                   root.model()->tokenizer(), textOf(*root.model()->drafter())};
  if (root.check())
    profile.check = readOutcomes(*root.check());
  profile.outcomes = readAll(root.outcomes(), readOutcomes);
  profile.machines = readAll(root.machines(), readMachine);
  if (const schema::ProfileLoad *load = root.load())
    profile.load = {numbersOf(load->slots()), numbersOf(load->contexts()),
                    numbersOf(load->prompts()), numbersOf(load->outputs()),
                    readRounds(*load)};
  profile.nodes = readNodes(root);
  profile.kinds = readAll(root.kinds(), readKind);
  profile.confidence = readConfidence(root);
  profile.tokens = readTokens(root);
  profile.head = {root.head_vocab(), root.head_share()};
  MTP_RETURN_IF_ERROR(checkProfile(profile));
  return profile;
}

Result<profile::Profile> profile::loadProfile(const std::string &path) {
  Result<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.status().withContext(path);
  Result<Profile> profile = readProfile({(*file)->data(), (*file)->size()});
  if (!profile)
    return profile.status().withContext(path);
  return profile;
}
