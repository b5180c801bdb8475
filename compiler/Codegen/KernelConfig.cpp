//===- KernelConfig.cpp - The attributes of one kernel --------------------===//

#include "compiler/Codegen/KernelConfig.h"

#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/IntegerFragments.h"

#include "llvm/ADT/SmallVector.h"

using namespace mtp::codegen;
using namespace mlir;

static bool hasType(Attribute value, ConfigKey::Type type) {
  switch (type) {
  case ConfigKey::Int:
    return isa<IntegerAttr>(value) && !isa<BoolAttr>(value);
  case ConfigKey::Bool:
    return isa<BoolAttr>(value);
  case ConfigKey::Float:
    return isa<FloatAttr>(value);
  case ConfigKey::Text:
    return isa<StringAttr>(value);
  }
  return false;
}

static StringRef typeName(ConfigKey::Type type) {
  switch (type) {
  case ConfigKey::Int:
    return "an integer";
  case ConfigKey::Bool:
    return "a boolean";
  case ConfigKey::Float:
    return "a float";
  case ConfigKey::Text:
    return "a string";
  }
  return "";
}

static LogicalResult checkKey(NamedAttribute entry, ArrayRef<ConfigKey> keys,
                              EmitError emitError) {
  const auto *key = llvm::find_if(
      keys, [&](const ConfigKey &k) { return k.name == entry.getName(); });
  if (key == keys.end())
    return emitError() << "unknown config key '" << entry.getName().getValue()
                       << "'";
  if (!hasType(entry.getValue(), key->type))
    return emitError() << "expected " << typeName(key->type)
                       << " for config key '" << key->name << "', got "
                       << entry.getValue();
  if (key->choices.empty())
    return success();
  StringRef text = cast<StringAttr>(entry.getValue()).getValue();
  SmallVector<StringRef> choices;
  key->choices.split(choices, '|');
  if (!llvm::is_contained(choices, text))
    return emitError() << "expected one of " << key->choices
                       << " for config key '" << key->name << "', got '" << text
                       << "'";
  return success();
}

FailureOr<KernelConfig> KernelConfig::get(DictionaryAttr attributes,
                                          ArrayRef<ConfigKey> keys,
                                          EmitError emitError) {
  for (NamedAttribute entry : attributes)
    if (failed(checkKey(entry, keys, emitError)))
      return failure();
  for (const ConfigKey &key : keys)
    if (key.required && !attributes.contains(key.name))
      return emitError() << "expected config key '" << key.name << "'";
  return KernelConfig(attributes);
}

int64_t KernelConfig::integer(StringRef key, int64_t absent) const {
  auto value = attributes.getAs<IntegerAttr>(key);
  return value ? value.getInt() : absent;
}

bool KernelConfig::flag(StringRef key) const {
  auto value = attributes.getAs<BoolAttr>(key);
  return value && value.getValue();
}

float KernelConfig::real(StringRef key, float absent) const {
  auto value = attributes.getAs<FloatAttr>(key);
  return value ? static_cast<float>(value.getValueAsDouble()) : absent;
}

StringRef KernelConfig::text(StringRef key, StringRef absent) const {
  auto value = attributes.getAs<StringAttr>(key);
  return value ? value.getValue() : absent;
}

WeightFormat KernelConfig::weightFormat() const {
  StringRef name = text("dtype");
  int64_t bits = name == "int8" ? 8 : name == "int4" ? 4 : 0;
  return {bits ? DType::F32 : dtype(), bits, integer("group")};
}

LogicalResult mtp::codegen::verifyWeightFormat(const KernelConfig &config,
                                               EmitError emitError) {
  WeightFormat format = config.weightFormat();
  if (format.bits && !isQuantGroup(format.group))
    return emitError() << "expected config key 'group' to be a multiple of "
                       << kMinQuantGroup << " up to " << kMaxQuantGroup
                       << " for dtype '" << config.text("dtype") << "', got "
                       << format.group;
  if (!format.bits && format.group != 0)
    return emitError() << "expected no config key 'group' for dtype '"
                       << config.text("dtype") << "', got " << format.group;
  int64_t k = config.integer("k");
  bool isPossible =
      format.bits
          ? IntegerFragments{format.bits, format.group, k}.isPossible()
          : format.dtype == DType::BF16 && k % FragmentOrder::kInputs == 0;
  if (config.flag("fragments") && !isPossible)
    return emitError() << "expected dtype 'bf16', or a group of 32, 64 or 128, "
                          "and k to be a multiple of "
                       << FragmentOrder::kInputs << " for fragments, got '"
                       << config.text("dtype") << "', " << format.group
                       << " and " << k;
  return success();
}
