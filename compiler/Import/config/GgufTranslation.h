//===- GgufTranslation.h - From metadata to a config -----------*- C++ -*-===//
//
// Private to GgufConfig.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_GGUFTRANSLATION_H
#define MTP_COMPILER_IMPORT_CONFIG_GGUFTRANSLATION_H

#include "compiler/Import/config/GgufModel.h"
#include "compiler/Weights/GgufNames.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace mtp::importer {

/// The members of a JSON object, in order.
class JsonWriter {
public:
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, int64_t value);
  void add(std::string_view key, double value);
  void addFlag(std::string_view key, bool value);
  void addText(std::string_view key, std::string_view value);
  std::string finish() const { return "{" + text + "}"; }

private:
  std::string text;
};

/// The metadata and tensors of one model, and the config that is written from
/// them. The first failure is kept.
struct GgufTranslation {
  GgufTranslation(std::span<const GgufPart> parts, const GgufFamily &family)
      : parts(parts), header(parts.front().header), family(family),
        type(family.modelType), prefix(std::string(family.architecture) + ".") {
  }

  bool is(std::initializer_list<std::string_view> types) const {
    return std::ranges::find(types, type) != types.end();
  }
  /// Returns true for families whose layers are recurrent or not.
  bool isHybrid() const { return family.heads != GgufFamily::Heads::None; }
  const GgufTensor *findTensor(std::string_view name,
                               const GgufPart **part = nullptr) const;
  /// Returns a tensor of a layer.
  const GgufTensor *findIn(int64_t layer, std::string_view name) const {
    return findTensor("blk." + std::to_string(layer) + "." + std::string(name));
  }
  void fail(const std::string &key, const std::string &expected);
  /// Reads a number of the model, or a list of equal numbers. Absent: nothing.
  std::optional<int64_t> integer(const std::string &key);
  std::optional<double> number(const std::string &key);
  std::optional<bool> flag(const std::string &key);
  int64_t required(const std::string &key);
  /// Fails unless a key is absent or has the value `neutral`.
  void expect(const std::string &key, double neutral);
  /// Adds an array of integers to the config, under `key`.
  void addIntegers(std::string_view key, const std::string &from);

  std::span<const GgufPart> parts;
  const GgufHeader &header;
  const GgufFamily &family;
  std::string_view type; ///< `model_type` of the config.
  std::string prefix;
  /// Numbers of the model that several functions use.
  int64_t layers = 0, hidden = 0, heads = 0, headDim = 0;
  JsonWriter config;
  Status failure;
};

// Each function translates one part of the keys.

/// Translates experts: their sizes, their scores, and the layers that have
/// them.
void translateExperts(GgufTranslation &from);
void translateRope(GgufTranslation &from);
/// Translates the tokens that begin and end a text.
void translateTokens(GgufTranslation &from);
void translateSampling(GgufTranslation &from);
/// Translates the keys of drafters that models do not have.
void translateDrafter(GgufTranslation &from);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_GGUFTRANSLATION_H
