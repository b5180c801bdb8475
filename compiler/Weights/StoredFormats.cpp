//===- StoredFormats.cpp - Weights stored in several tensors --------------===//

#include "compiler/Weights/StoredFormats.h"

#include <algorithm>

namespace mtp {

namespace {

/// Removes an extension; nothing if the key has another one.
std::optional<std::string> stemOf(const std::string &key,
                                  std::string_view extension) {
  if (!key.ends_with(extension))
    return std::nullopt;
  return key.substr(0, key.size() - extension.size());
}

/// Keys of FP8 scales of a weight, in the order in which they are tried.
std::vector<std::string> scaleKeys(const std::string &key) {
  std::vector<std::string> keys = {key + "_scale_inv", key + "_scale"};
  if (std::optional<std::string> stem = stemOf(key, ".weight")) {
    keys.push_back(*stem + ".scale");
    keys.push_back(*stem + ".qscale_weight");
  }
  return keys;
}

/// Extensions of tensors that only refused formats have. The weight is the
/// stem with ".weight".
struct Mark {
  std::string_view extension, format;
};
constexpr Mark kMarks[] = {
    {".weight.absmax", "bitsandbytes"},
    {".SCB", "bitsandbytes"},
    {".pre_quant_scale", "modelopt's AWQ, whose inputs have scales"},
    {".svdquant_lora_a", "modelopt's SVDQuant"},
    {".trellis", "EXL3"},
    {".q_weight", "EXL2"},
    {".codebooks", "AQLM"},
    {".W_q", "HQQ"},
    {".vptq_codes", "VPTQ"},
};

/// Finds the weight of one tensor of codes.
class Finder {
public:
  Finder(const std::string &codes, const FindPart &find)
      : codes(codes), find(find) {}

  std::optional<StoredWeight> run() const;

private:
  StoredWeight make(StoredKind kind, const std::string &key,
                    const std::vector<std::string> &parts) const;
  std::optional<StoredWeight> findBytes(const std::string &stem) const;
  std::optional<StoredWeight> findRefused() const;

  const std::string &codes;
  const FindPart &find;
};

} // namespace

StoredWeight Finder::make(StoredKind kind, const std::string &key,
                          const std::vector<std::string> &parts) const {
  StoredWeight weight{kind, key, codes, {}, {}};
  for (const std::string &part : parts)
    if (find(part))
      weight.parts.push_back(part);
  return weight;
}

/// Finds the scales of bytes.
std::optional<StoredWeight> Finder::findBytes(const std::string &stem) const {
  StoredWeight weight =
      make(StoredKind::Bytes, codes,
           {stem + ".weight_scale", stem + ".scale", stem + ".weight_scale_2",
            stem + ".weight_zero_point", stem + ".weight_shape"});
  return weight.parts.empty() ? std::nullopt : std::optional(weight);
}

/// Finds a weight of a refused format, by its codes or by another tensor that
/// the format has beside the codes.
std::optional<StoredWeight> Finder::findRefused() const {
  for (const Mark &mark : kMarks) {
    std::optional<std::string> stem = stemOf(codes, mark.extension);
    std::string key = stem ? *stem + ".weight" : std::string();
    if (stem && find(key))
      continue;
    if (std::optional<std::string> own = stemOf(codes, ".weight");
        own && find(*own + std::string(mark.extension)))
      key = codes;
    if (!key.empty())
      return StoredWeight{
          StoredKind::Refused, key, codes, {}, std::string(mark.format)};
  }
  return std::nullopt;
}

std::optional<StoredWeight> Finder::run() const {
  if (std::optional<StoredWeight> refused = findRefused())
    return refused;
  if (std::optional<std::string> stem = stemOf(codes, ".weight_packed")) {
    std::string key = *stem + ".weight";
    return make(StoredKind::Packed, key,
                {key + "_scale", key + "_zero_point", key + "_shape",
                 key + "_g_idx", key + "_global_scale"});
  }
  if (std::optional<std::string> stem = stemOf(codes, ".qweight"))
    return make(StoredKind::Columns, *stem + ".weight",
                {*stem + ".scales", *stem + ".qzeros", *stem + ".g_idx"});
  std::optional<std::string> stem = stemOf(codes, "_blocks");
  if (stem && find(*stem + "_scales"))
    return make(StoredKind::Blocks, *stem, {*stem + "_scales"});
  std::optional<StoredPart> part = find(codes);
  if (!part)
    return std::nullopt;
  if (part->type == WeightType::F8E4M3) {
    StoredWeight weight = make(StoredKind::Float8, codes, scaleKeys(codes));
    return weight.parts.empty() ? std::nullopt : std::optional(weight);
  }
  stem = stemOf(codes, ".weight");
  bool isBytes = part->type == WeightType::I8 || part->type == WeightType::U8;
  return stem && isBytes ? findBytes(*stem) : std::nullopt;
}

std::optional<StoredWeight> findStoredWeight(const std::string &codes,
                                             const FindPart &find) {
  return Finder(codes, find).run();
}

bool isActivationScale(std::string_view key) {
  constexpr std::string_view kNames[] = {
      ".input_scale",      ".input_global_scale",
      ".input_zero_point", ".k_scale",
      ".v_scale",          ".q_scale",
      ".output_scale",     ".prob_scale",
      ".kv_scale",         ".k_zero_point",
      ".v_zero_point",     ".qscale_act"};
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return key.ends_with(name); });
}

} // namespace mtp
