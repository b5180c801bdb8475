//===- HuggingFaceOutput.cpp - tokenizer.json's decoder and template ------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"

using namespace mtp;

namespace {

Status readReplace(const JsonValue &value, PieceDecoder &decoder) {
  MTP_ASSIGN_OR_RETURN(JsonValue pattern, value.member("pattern"));
  MTP_ASSIGN_OR_RETURN(JsonValue from, pattern.member("String"));
  MTP_ASSIGN_OR_RETURN(JsonValue to, value.member("content"));
  MTP_ASSIGN_OR_RETURN(decoder.from, from.asString());
  MTP_ASSIGN_OR_RETURN(decoder.to, to.asString());
  if (decoder.from.empty())
    return from.expected("some text");
  return okStatus();
}

Status readStrip(const JsonValue &value, PieceDecoder &decoder) {
  MTP_ASSIGN_OR_RETURN(JsonValue content, value.member("content"));
  MTP_ASSIGN_OR_RETURN(std::string_view text, content.asString());
  if (text != " ")
    return unsupportedValue(content, "' '");
  MTP_ASSIGN_OR_RETURN(JsonValue stop, value.member("stop"));
  MTP_ASSIGN_OR_RETURN(uint32_t stopCount, stop.asUint32());
  if (stopCount != 0)
    return unsupportedValue(stop, "0");
  MTP_ASSIGN_OR_RETURN(JsonValue start, value.member("start"));
  MTP_ASSIGN_OR_RETURN(decoder.stripLeadingSpaces, start.asUint32());
  return okStatus();
}

/// Lists the decoders of a Sequence, with nested Sequences expanded.
Status listDecoders(const JsonValue &value, std::vector<JsonValue> &decoders) {
  MTP_ASSIGN_OR_RETURN(JsonValue list, value.member("decoders"));
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> items, list.asArray());
  for (const JsonValue &item : items) {
    MTP_ASSIGN_OR_RETURN(JsonValue typeValue, item.member("type"));
    MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
    if (type == "Sequence")
      MTP_RETURN_IF_ERROR(listDecoders(item, decoders));
    else
      decoders.push_back(item);
  }
  return okStatus();
}

/// Returns true if a decoder changes nothing beside ByteLevel, which joins all
/// pieces to one text.
Result<bool> isIdleBesideBytes(const JsonValue &value) {
  MTP_ASSIGN_OR_RETURN(JsonValue type, value.member("type"));
  MTP_ASSIGN_OR_RETURN(std::string_view name, type.asString());
  if (name == "Strip") {
    PieceDecoder strip;
    MTP_RETURN_IF_ERROR(readStrip(value, strip));
    return strip.stripLeadingSpaces == 0;
  }
  return name == "Fuse";
}

/// Reads the decoders of a Sequence, which are supported in one order only.
Status readDecoderSequence(const JsonValue &value, PieceDecoder &decoder) {
  std::vector<JsonValue> decoders;
  MTP_RETURN_IF_ERROR(listDecoders(value, decoders));
  static constexpr std::string_view kOrder[] = {"Replace", "ByteFallback",
                                                "Fuse", "Strip"};
  size_t next = 0;
  for (const JsonValue &child : decoders) {
    MTP_ASSIGN_OR_RETURN(JsonValue typeValue, child.member("type"));
    MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
    decoder.isByteLevel |= type == "ByteLevel";
  }
  for (const JsonValue &child : decoders) {
    MTP_ASSIGN_OR_RETURN(JsonValue typeValue, child.member("type"));
    MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
    if (decoder.isByteLevel) {
      MTP_ASSIGN_OR_RETURN(bool isIdle, isIdleBesideBytes(child));
      if (!isIdle && type != "ByteLevel")
        return unsupportedValue(typeValue, "no other decoder beside ByteLevel");
      continue;
    }
    while (next < 4 && kOrder[next] != type)
      ++next;
    if (next == 4)
      return unsupportedValue(
          typeValue, "Replace, ByteFallback, Fuse and Strip in that order");
    if (type == "Replace")
      MTP_RETURN_IF_ERROR(readReplace(child, decoder));
    decoder.byteFallback |= type == "ByteFallback";
    if (type == "Strip")
      MTP_RETURN_IF_ERROR(readStrip(child, decoder));
    ++next;
  }
  return okStatus();
}

Status readMetaspace(const JsonValue &value, PieceDecoder &decoder) {
  MTP_ASSIGN_OR_RETURN(decoder.from,
                       value.stringOr("replacement", "\xE2\x96\x81"));
  decoder.to = " ";
  MTP_ASSIGN_OR_RETURN(bool prefixSpace,
                       value.boolOr("add_prefix_space", true));
  MTP_ASSIGN_OR_RETURN(
      std::string_view scheme,
      value.stringOr("prepend_scheme", prefixSpace ? "always" : "never"));
  decoder.firstWithoutSpaces = scheme != "never";
  return okStatus();
}

Status appendIds(const JsonValue &value, std::vector<uint32_t> &ids) {
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> list, value.asArray());
  for (const JsonValue &item : list) {
    MTP_ASSIGN_OR_RETURN(uint32_t id, item.asUint32());
    ids.push_back(id);
  }
  return okStatus();
}

Status readTemplate(const JsonValue &value, std::vector<uint32_t> &prefix,
                    std::vector<uint32_t> &suffix) {
  MTP_ASSIGN_OR_RETURN(JsonValue single, value.member("single"));
  MTP_ASSIGN_OR_RETURN(JsonValue specials, value.member("special_tokens"));
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> parts, single.asArray());
  bool seenText = false;
  for (const JsonValue &part : parts) {
    std::optional<JsonValue> special = part.find("SpecialToken");
    if (!special) {
      if (seenText)
        return part.expected("the text once");
      seenText = true;
      continue;
    }
    MTP_ASSIGN_OR_RETURN(JsonValue nameValue, special->member("id"));
    MTP_ASSIGN_OR_RETURN(std::string_view name, nameValue.asString());
    MTP_ASSIGN_OR_RETURN(JsonValue entry, specials.member(name));
    MTP_ASSIGN_OR_RETURN(JsonValue ids, entry.member("ids"));
    MTP_RETURN_IF_ERROR(appendIds(ids, seenText ? suffix : prefix));
  }
  if (!seenText)
    return single.expected("the text among the parts");
  return okStatus();
}

/// Reads a name with an id: ["[CLS]", 101].
Status readNamedId(const JsonValue &value, std::vector<uint32_t> &ids) {
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> pair, value.asArray());
  if (pair.size() != 2)
    return value.expected("a token and its id");
  MTP_ASSIGN_OR_RETURN(uint32_t id, pair[1].asUint32());
  ids.push_back(id);
  return okStatus();
}

} // namespace

Result<PieceDecoder> mtp::readDecoder(const JsonValue &value) {
  PieceDecoder decoder;
  MTP_ASSIGN_OR_RETURN(JsonValue typeValue, value.member("type"));
  MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
  if (type == "ByteLevel")
    decoder.isByteLevel = true;
  else if (type == "Sequence")
    MTP_RETURN_IF_ERROR(readDecoderSequence(value, decoder));
  else if (type == "Metaspace")
    MTP_RETURN_IF_ERROR(readMetaspace(value, decoder));
  else
    return unsupportedValue(typeValue, "a supported decoder");
  return decoder;
}

Status mtp::readPostProcessor(const JsonValue &value,
                              std::vector<uint32_t> &prefix,
                              std::vector<uint32_t> &suffix) {
  MTP_ASSIGN_OR_RETURN(JsonValue typeValue, value.member("type"));
  MTP_ASSIGN_OR_RETURN(std::string_view type, typeValue.asString());
  if (type == "ByteLevel") // It concerns offsets, which are not reported.
    return okStatus();
  if (type == "TemplateProcessing")
    return readTemplate(value, prefix, suffix);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    MTP_ASSIGN_OR_RETURN(JsonValue cls, value.member("cls"));
    MTP_ASSIGN_OR_RETURN(JsonValue sep, value.member("sep"));
    MTP_RETURN_IF_ERROR(readNamedId(cls, prefix));
    return readNamedId(sep, suffix);
  }
  if (type != "Sequence")
    return unsupportedValue(typeValue, "a supported post-processor");
  MTP_ASSIGN_OR_RETURN(JsonValue list, value.member("processors"));
  MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> processors, list.asArray());
  for (const JsonValue &processor : processors) {
    // Each post-processor wraps the result of the preceding ones.
    std::vector<uint32_t> before, after;
    MTP_RETURN_IF_ERROR(readPostProcessor(processor, before, after));
    prefix.insert(prefix.begin(), before.begin(), before.end());
    suffix.insert(suffix.end(), after.begin(), after.end());
  }
  return okStatus();
}
