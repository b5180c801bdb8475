//===- mutants_test.cpp - Artifacts with one wrong field ------------------===//
//
// Changes one field of a compiled artifact at a time, any field of any table.
// Hashes and seal are corrected. If the file still loads, the test runs
// prompts, rounds and functions. Each mutant runs in a process of its own,
// which must exit by itself and in time. Contracts, which define correctness,
// and the bytes of code are not changed. Numbers that no valid file has are
// also put everywhere, contracts included.
//
// MTP_MUTANTS is the number of mutants (700), MTP_MUTANTS_OF another artifact.
//
//===----------------------------------------------------------------------===//

#include "mtp/session.h"
#include "test/Runtime/support/ArtifactBuilder.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flatbuffers/reflection_generated.h"

using namespace mtp;
using namespace mtp::test;

namespace {

/// A number in the tables, or the length of a vector.
struct Site {
  uint64_t offset; // In the file.
  uint32_t bytes;
};

/// Finds all numbers of a FlatBuffer and the field of each.
class SiteFinder {
public:
  SiteFinder(const reflection::Schema &schema, const uint8_t *file,
             bool hasContracts)
      : schema(schema), file(file), hasContracts(hasContracts) {}

  void visit(const flatbuffers::Table *table, const reflection::Object *object);

  std::map<std::string, std::vector<Site>> sites;

private:
  void addNumber(const std::string &name, const uint8_t *at, size_t bytes) {
    sites[name].push_back({uint64_t(at - file), uint32_t(bytes)});
  }
  void visitStruct(const uint8_t *at, const reflection::Object *object);
  void visitField(const std::string &name, const uint8_t *at,
                  const reflection::Type *type);
  void visitVector(const std::string &name, const uint8_t *vector,
                   const reflection::Type *type);
  void visitUnions(const flatbuffers::Table *table,
                   const reflection::Object *object,
                   const reflection::Field *field);
  const reflection::Object *objectOf(const reflection::Type *type) const {
    return schema.objects()->Get(uint32_t(type->index()));
  }

  const reflection::Schema &schema;
  const uint8_t *file;
  bool hasContracts;
};

struct Mutant {
  std::string field;
  Site site;
  uint64_t value;
};

} // namespace

static uint32_t numberBytes(reflection::BaseType type) {
  switch (type) {
  case reflection::Bool:
  case reflection::Byte:
  case reflection::UByte:
  case reflection::UType:
    return 1;
  case reflection::Short:
  case reflection::UShort:
    return 2;
  case reflection::Int:
  case reflection::UInt:
  case reflection::Float:
    return 4;
  case reflection::Long:
  case reflection::ULong:
  case reflection::Double:
    return 8;
  default:
    return 0;
  }
}

static std::string baseName(const reflection::Object *object) {
  std::string name = object->name()->str();
  return name.substr(name.rfind('.') + 1);
}

void SiteFinder::visitStruct(const uint8_t *at,
                             const reflection::Object *object) {
  for (const reflection::Field *field : *object->fields()) {
    const reflection::Type *type = field->type();
    if (type->base_type() == reflection::Obj)
      visitStruct(at + field->offset(), objectOf(type));
    else
      addNumber(baseName(object) + "." + field->name()->str(),
                at + field->offset(), numberBytes(type->base_type()));
  }
}

/// Visits a vector of unions, whose types are in the field before it.
void SiteFinder::visitUnions(const flatbuffers::Table *table,
                             const reflection::Object *object,
                             const reflection::Field *field) {
  const reflection::Field *types =
      object->fields()->LookupByKey((field->name()->str() + "_type").c_str());
  const auto *values =
      schema.enums()->Get(uint32_t(field->type()->index()))->values();
  const auto *elements =
      table->GetPointer<const flatbuffers::Vector<uint32_t> *>(field->offset());
  const auto *kinds =
      table->GetPointer<const flatbuffers::Vector<uint8_t> *>(types->offset());
  for (uint32_t i = 0; elements && i < elements->size(); ++i) {
    const uint8_t *at = elements->Data() + i * 4;
    at += flatbuffers::ReadScalar<uint32_t>(at);
    visit(reinterpret_cast<const flatbuffers::Table *>(at),
          objectOf(values->LookupByKey(kinds->Get(i))->union_type()));
  }
}

void SiteFinder::visitVector(const std::string &name, const uint8_t *vector,
                             const reflection::Type *type) {
  uint32_t count = flatbuffers::ReadScalar<uint32_t>(vector);
  addNumber(name + " (length)", vector, 4);
  const uint8_t *elements = vector + 4;
  const reflection::Object *object =
      type->element() == reflection::Obj ? objectOf(type) : nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    if (uint32_t bytes = numberBytes(type->element())) {
      addNumber(name, elements + i * bytes, bytes);
    } else if (object && object->is_struct()) {
      visitStruct(elements + i * uint32_t(object->bytesize()), object);
    } else if (object) {
      const uint8_t *at = elements + i * 4;
      at += flatbuffers::ReadScalar<uint32_t>(at);
      visit(reinterpret_cast<const flatbuffers::Table *>(at), object);
    }
  }
}

void SiteFinder::visitField(const std::string &name, const uint8_t *at,
                            const reflection::Type *type) {
  if (uint32_t bytes = numberBytes(type->base_type()))
    return addNumber(name, at, bytes);
  bool isObject = type->base_type() == reflection::Obj;
  if (isObject && objectOf(type)->is_struct())
    return visitStruct(at, objectOf(type));
  at += flatbuffers::ReadScalar<uint32_t>(at);
  if (isObject)
    return visit(reinterpret_cast<const flatbuffers::Table *>(at),
                 objectOf(type));
  if (type->base_type() == reflection::Vector)
    return visitVector(name, at, type);
  addNumber(name, at + 4, 1); // The first letter of a string.
}

void SiteFinder::visit(const flatbuffers::Table *table,
                       const reflection::Object *object) {
  for (const reflection::Field *field : *object->fields()) {
    const uint8_t *at = table->GetAddressOf(field->offset());
    std::string name = baseName(object) + "." + field->name()->str();
    if (at && field->type()->element() == reflection::Union)
      visitUnions(table, object, field);
    else if (at && (hasContracts || name != "Kernel.contract"))
      visitField(name, at, field->type());
  }
}

//===----------------------------------------------------------------------===//
// Making mutants
//===----------------------------------------------------------------------===//

static std::vector<uint8_t> readAll(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static uint64_t valueAt(const std::vector<uint8_t> &file, const Site &site) {
  uint64_t value = 0;
  std::memcpy(&value, &file[site.offset], site.bytes);
  return value;
}

/// Returns a value other than the one at `site`: near it, far from it, or a
/// value from another site.
static uint64_t otherValue(const std::vector<uint8_t> &file,
                           const std::vector<Site> &alike, const Site &site,
                           std::mt19937_64 &random) {
  uint64_t old = valueAt(file, site);
  uint64_t values[] = {0,
                       1,
                       old + 1,
                       old - 1,
                       old * 2,
                       old / 2,
                       old + 64,
                       ~uint64_t(0),
                       uint64_t(1) << (site.bytes * 8 - 1),
                       (uint64_t(1) << (site.bytes * 8 - 1)) - 1,
                       old ^ uint64_t(1) << random() % (site.bytes * 8),
                       random() % 300,
                       random()};
  constexpr size_t count = std::size(values);
  size_t which = random() % (count + 4);
  uint64_t value = which < count
                       ? values[which]
                       : valueAt(file, alike[random() % alike.size()]);
  uint64_t mask =
      site.bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (site.bytes * 8)) - 1;
  return value & mask;
}

/// Makes mutants of all fields in turn; fields of commands and bindings more
/// often.
static std::vector<Mutant>
makeMutants(const std::vector<uint8_t> &file,
            const std::map<std::string, std::vector<Site>> &sites,
            size_t count) {
  std::mt19937_64 random(20261123);
  std::vector<Mutant> mutants;
  while (mutants.size() < count)
    for (const auto &[field, alike] : sites) {
      bool isCommand = false;
      for (const char *table :
           {"Kernel.", "Dispatch.", "Place.", "Count.", "PlanProgram."})
        isCommand |= field.starts_with(table);
      for (int i = 0; i < (isCommand ? 5 : 1); ++i) {
        const Site &site = alike[random() % alike.size()];
        uint64_t value = otherValue(file, alike, site, random);
        if (value != valueAt(file, site))
          mutants.push_back({field, site, value});
      }
    }
  mutants.resize(count);
  return mutants;
}

/// Makes every field far too large, at its first site and at another one.
static std::vector<Mutant>
makeHuge(const std::vector<uint8_t> &file,
         const std::map<std::string, std::vector<Site>> &sites) {
  std::mt19937_64 random(20261123);
  std::vector<Mutant> mutants;
  for (const auto &[field, alike] : sites)
    for (size_t place : {size_t(0), size_t(random() % alike.size())}) {
      const Site &site = alike[place];
      uint64_t most = site.bytes == 8 ? ~uint64_t(0)
                                      : (uint64_t(1) << (site.bytes * 8)) - 1;
      std::vector<uint64_t> values = {most};
      if (site.bytes >= 4)
        values.push_back(site.bytes == 8 ? uint64_t(1) << 40 : 1 << 30);
      for (uint64_t value : values)
        if (value != valueAt(file, site))
          mutants.push_back({field, site, value});
    }
  return mutants;
}

/// Corrects the hashes of segments that are inside the file.
static void rehash(std::vector<uint8_t> &file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  uint64_t base = segmentBase(header.programOffset, header.programSize);
  flatbuffers::Verifier verifier(&file[header.programOffset],
                                 header.programSize);
  if (!schema::VerifyArtifactBuffer(verifier))
    return;
  const schema::Artifact *artifact =
      schema::GetArtifact(&file[header.programOffset]);
  const auto *segments = artifact->segments();
  for (uint32_t i = 0; segments && i < segments->size(); ++i) {
    auto *segment = const_cast<schema::Segment *>(segments->Get(i));
    uint64_t begin = base + segment->offset();
    if (begin > file.size() || segment->size() > file.size() - begin)
      continue;
    auto *hash = const_cast<uint8_t *>(
        reinterpret_cast<const flatbuffers::Table *>(segment)->GetAddressOf(
            schema::Segment::VT_HASH));
    if (hash)
      flatbuffers::WriteScalar(hash, hashBytes(&file[begin], segment->size()));
  }
}

//===----------------------------------------------------------------------===//
// Running them
//===----------------------------------------------------------------------===//

static void generate(const std::shared_ptr<const Model> &model, uint32_t k) {
  SessionOptions options;
  options.k = k;
  options.threads = 2;
  options.logits = LogitsMode::All;
  auto session = Session::create(model, options);
  if (!session)
    return;
  uint32_t vocab = model->envelope()->vocab;
  for (uint32_t r = 0; r < 3; ++r) {
    Request request;
    for (uint32_t i = 0; i < 5 + 4 * r; ++i)
      request.prompt.push_back(int32_t((7 * i + r) % vocab));
    request.maxTokens = 6;
    request.ignoreEos = true;
    request.sampling.temperature = r == 1 ? 1.0f : 0.0f;
    request.sampling.topP = 0.9f;
    (*session)->add(request).status().ignore();
  }
  for (int step = 0; step < 100 && !(*session)->idle(); ++step)
    if (!(*session)->step())
      return;
}

static void runFunctions(const std::shared_ptr<const Model> &model) {
  SessionOptions options;
  options.threads = 1;
  auto session = Session::create(model, options);
  if (!session)
    return;
  for (const std::string &name : model->functions()) {
    auto ports = model->functionInputs(name);
    std::vector<Tensor> inputs;
    for (const PortType &port : *ports) {
      uint64_t bytes =
          elementCount(port.type) * elementBytes(port.type.element);
      if (bytes > 1 << 20)
        return;
      inputs.push_back({port.type, std::vector<uint8_t>(bytes)});
      for (size_t i = 0; i < bytes; ++i)
        inputs.back().bytes[i] = uint8_t(i % 4 ? 0 : i / 4 % 5);
    }
    (*session)->runFunction(name, inputs).status().ignore();
  }
}

/// Runs in a process of its own: exits with 0 if the file loaded, otherwise 1.
[[noreturn]] static void runMutant(std::vector<uint8_t> file,
                                   const Mutant &mutant) {
  alarm(30);
  std::memcpy(&file[mutant.site.offset], &mutant.value, mutant.site.bytes);
  rehash(file);
  reseal(file);
  int fd = memfd_create("mutant", 0);
  if (write(fd, file.data(), file.size()) != ssize_t(file.size()))
    _exit(2);
  auto model = Model::load("/proc/self/fd/" + std::to_string(fd));
  if (!model)
    _exit(1);
  if ((*model)->envelope()) {
    generate(*model, SessionOptions::kMaximum);
    generate(*model, 0);
  }
  runFunctions(*model);
  _exit(0);
}

static std::vector<uint8_t> mutantFile() {
  const char *path = std::getenv("MTP_MUTANTS_OF");
  return readAll(path ? path : MTP_GOLDEN);
}

static std::map<std::string, std::vector<Site>>
sitesOf(const std::vector<uint8_t> &file, bool hasContracts) {
  std::vector<uint8_t> text = readAll(MTP_SCHEMA);
  const reflection::Schema &schema = *reflection::GetSchema(text.data());
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  SiteFinder finder(schema, file.data(), hasContracts);
  finder.visit(
      flatbuffers::GetRoot<flatbuffers::Table>(&file[header.programOffset]),
      schema.root_table());
  return finder.sites;
}

/// Runs each mutant in a process of its own. Returns how many of them loaded.
static size_t runAll(const std::vector<uint8_t> &file,
                     const std::vector<Mutant> &mutants) {
  size_t loaded = 0;
  for (const Mutant &mutant : mutants) {
    pid_t child = fork();
    if (child == 0)
      runMutant(file, mutant);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2)
        << mutant.field << " at byte " << mutant.site.offset << ": "
        << valueAt(file, mutant.site) << " -> " << mutant.value << ", "
        << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no signal");
    loaded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return loaded;
}

TEST(Mutants, EndByThemselves) {
  std::vector<uint8_t> file = mutantFile();
  ASSERT_FALSE(file.empty());
  auto sites = sitesOf(file, /*hasContracts=*/false);
  ASSERT_GT(sites.size(), 60u);
  const char *number = std::getenv("MTP_MUTANTS");
  size_t count = number ? size_t(std::atol(number)) : 700;
  size_t loaded = runAll(file, makeMutants(file, sites, count));
  // Some fields are for people, and some values have no effect.
  EXPECT_GT(loaded, count / 20);
  EXPECT_LT(loaded, count / 2);
}

TEST(Mutants, OfHugeNumbersEndByThemselves) {
  std::vector<uint8_t> file = mutantFile();
  ASSERT_FALSE(file.empty());
  auto sites = sitesOf(file, /*hasContracts=*/true);
  ASSERT_TRUE(sites.count("Contract.tasks"));
  runAll(file, makeHuge(file, sites));
}
