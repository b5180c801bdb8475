//===- MachineFile.cpp - A machine to predict rounds on -------------------===//

#include "tools/mtp-tune/simulate/MachineFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"
#include "tools/support/TextFile.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>

using namespace mtp;
using namespace mtp::tune;
using simdjson::dom::element;

/// Limits of a file and of its numbers.
static constexpr size_t kMostBytes = 1 << 16, kMostDepth = 8;
static constexpr double kLeastRate = 1e3, kMostRate = 1e21, kMostSeconds = 1;

namespace {
/// Reads the members of one object.
class ObjectReader {
public:
  ObjectReader(simdjson::dom::object object, std::string place)
      : object(object), place(std::move(place)) {}

  /// Refuses members besides `known`, and members that occur twice.
  Status checkKeys(std::initializer_list<std::string_view> known) const;
  Status number(std::string_view key, double least, double most, bool isNeeded,
                double &into) const;
  Status text(std::string_view key, std::string &into) const;
  /// Returns the object of a member; nothing if there is no such member.
  Result<std::optional<ObjectReader>> inner(std::string_view key) const;

private:
  std::string keyOf(std::string_view key) const {
    return place.empty() ? std::string(key) : strCat(place, ".", key);
  }
  Status wrong(std::string_view key, const std::string &expected) const;

  simdjson::dom::object object;
  std::string place;
};
} // namespace

Status ObjectReader::wrong(std::string_view key,
                           const std::string &expected) const {
  element found;
  std::string got = "nothing";
  if (object.at_key(key).get(found) == simdjson::SUCCESS)
    got = simdjson::minify(found);
  return invalidArgument(
      strCat(keyOf(key), ": expected ", expected, ", got ", got));
}

/// Describes the numbers of a key: "a number of 0 to 1".
static std::string numbers(double least, double most) {
  char text[80];
  std::snprintf(text, sizeof(text), "a number of %g to %g", least, most);
  return text;
}

Status
ObjectReader::checkKeys(std::initializer_list<std::string_view> known) const {
  std::vector<std::string_view> seen;
  std::string list;
  for (std::string_view key : known)
    list += strCat(list.empty() ? "" : ", ", key);
  for (auto [key, value] : object) {
    if (std::ranges::find(known, key) == known.end())
      return invalidArgument(strCat(keyOf(key), ": expected one of ", list,
                                    ", got ", simdjson::minify(value)));
    if (std::ranges::find(seen, key) != seen.end())
      return invalidArgument(strCat(keyOf(key), ": expected the key once, got ",
                                    simdjson::minify(value), " again"));
    seen.push_back(key);
  }
  return okStatus();
}

Status ObjectReader::number(std::string_view key, double least, double most,
                            bool isNeeded, double &into) const {
  element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS)
    return isNeeded ? wrong(key, numbers(least, most)) : okStatus();
  double value = 0;
  if (found.get(value) != simdjson::SUCCESS || !(value >= least) ||
      !(value <= most))
    return wrong(key, numbers(least, most));
  into = value;
  return okStatus();
}

Status ObjectReader::text(std::string_view key, std::string &into) const {
  std::string_view value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.empty())
    return wrong(key, "a text");
  into = value;
  return okStatus();
}

Result<std::optional<ObjectReader>>
ObjectReader::inner(std::string_view key) const {
  element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS)
    return std::optional<ObjectReader>();
  simdjson::dom::object members;
  if (found.get(members) != simdjson::SUCCESS)
    return wrong(key, "an object");
  return std::optional(ObjectReader(members, keyOf(key)));
}

static Status readOperations(const ObjectReader &root, Machine &machine) {
  MTP_ASSIGN_OR_RETURN(std::optional<ObjectReader> peaks,
                       root.inner("operations_per_second"));
  if (!peaks)
    return okStatus();
  MTP_RETURN_IF_ERROR(peaks->checkKeys({"f32", "bf16", "int8", "int4"}));
  using bench::Arithmetic;
  for (auto [key, type] :
       {std::pair("f32", Arithmetic::F32), std::pair("bf16", Arithmetic::BF16),
        std::pair("int8", Arithmetic::I8), std::pair("int4", Arithmetic::I4)})
    MTP_RETURN_IF_ERROR(peaks->number(key, kLeastRate, kMostRate,
                                      /*isNeeded=*/false,
                                      machine.rates.ops[size_t(type)]));
  return okStatus();
}

static Status readCommands(const ObjectReader &root, Machine &machine) {
  MTP_ASSIGN_OR_RETURN(std::optional<ObjectReader> times,
                       root.inner("seconds_per_command"));
  if (!times)
    return okStatus();
  MTP_RETURN_IF_ERROR(times->checkKeys({"product", "attention", "other"}));
  for (auto [key, into] : {std::pair("product", &machine.productSeconds),
                           std::pair("attention", &machine.attentionSeconds),
                           std::pair("other", &machine.otherSeconds)})
    MTP_RETURN_IF_ERROR(
        times->number(key, 0, kMostSeconds, /*isNeeded=*/false, *into));
  return okStatus();
}

static Status readKind(const ObjectReader &root, Machine &machine) {
  std::string kind;
  MTP_RETURN_IF_ERROR(root.text("kind", kind));
  machine.isGpu = kind == "gpu";
  if (!machine.isGpu && kind != "cpu")
    return invalidArgument(
        strCat("kind: expected \"gpu\" or \"cpu\", got \"", kind, "\""));
  return okStatus();
}

Result<Machine> tune::parseMachine(std::string_view json) {
  MTP_ASSIGN_OR_RETURN(JsonTree tree,
                       JsonTree::of(json, {kMostBytes, kMostDepth, false}));
  simdjson::dom::object members;
  if (tree.root().get(members) != simdjson::SUCCESS)
    return invalidArgument("expected an object with a machine's rates");
  ObjectReader root(members, "");
  MTP_RETURN_IF_ERROR(
      root.checkKeys({"name", "kind", "bytes_per_second",
                      "cache_bytes_per_second", "operations_per_second",
                      "seconds_per_command", "seconds_per_round", "sources"}));
  Machine machine;
  MTP_RETURN_IF_ERROR(root.text("name", machine.name));
  MTP_RETURN_IF_ERROR(readKind(root, machine));
  MTP_RETURN_IF_ERROR(root.number("bytes_per_second", kLeastRate, kMostRate,
                                  /*isNeeded=*/true, machine.rates.bytes));
  MTP_RETURN_IF_ERROR(root.number("cache_bytes_per_second", kLeastRate,
                                  kMostRate, /*isNeeded=*/false,
                                  machine.cacheBytes));
  MTP_RETURN_IF_ERROR(root.number("seconds_per_round", 0, kMostSeconds,
                                  /*isNeeded=*/false, machine.roundSeconds));
  MTP_RETURN_IF_ERROR(readOperations(root, machine));
  MTP_RETURN_IF_ERROR(readCommands(root, machine));
  MTP_RETURN_IF_ERROR(root.inner("sources").status());
  return machine;
}

/// Returns the folder of installed machines.
static std::filesystem::path machinesFolder() {
  std::error_code error;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "share/mtp/machines";
}

Result<Machine> tune::loadMachine(const std::string &given) {
  std::error_code error;
  std::string path = given, folder = machinesFolder().string();
  if (given.find('/') == given.npos && !std::filesystem::exists(given, error))
    path = strCat(folder, "/", given, ".json");
  Result<std::string> text = readTextFile(path, kMostBytes);
  if (!text && text.status().code() == StatusCode::NotFound)
    return notFound(strCat("--simulate: expected a file, or the name of a "
                           "machine in ",
                           folder, ", got ", given));
  if (!text)
    return text.status().withContext(strCat("--simulate: ", path));
  Result<Machine> machine = parseMachine(*text);
  return machine ? std::move(machine)
                 : Result<Machine>(machine.status().withContext(path));
}
