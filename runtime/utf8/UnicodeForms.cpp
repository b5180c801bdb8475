//===- UnicodeForms.cpp - Unicode's normal forms and lower case -----------===//

#include "runtime/utf8/UnicodeForms.h"

#include "runtime/utf8/Utf8.h"

#include <cstdlib>
#include <memory>
#include <utf8proc.h>

using namespace mtp;

namespace {

// Unicode's stream-safe format allows 30.
constexpr size_t kMaxCombiningRun = 1024;

utf8proc_option_t optionsFor(UnicodeForm form) {
  int options = UTF8PROC_STABLE;
  if (form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc)
    options |= UTF8PROC_COMPOSE;
  else
    options |= UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd)
    options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

Status checkCombiningRuns(std::string_view text) {
  size_t run = 0;
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos)) {
    auto codePoint = static_cast<utf8proc_int32_t>(decodeUtf8(text, pos));
    bool combines = codePoint >= 0x300 &&
                    utf8proc_get_property(codePoint)->combining_class != 0;
    run = combines ? run + 1 : 0;
    if (run > kMaxCombiningRun)
      return resourceExhausted(
          "expected at most " + std::to_string(kMaxCombiningRun) +
          " combining marks in a row, got more at byte " + std::to_string(pos));
  }
  return okStatus();
}

} // namespace

Status mtp::appendNormalized(std::string_view text, UnicodeForm form,
                             std::string &out) {
  bool isAscii = true;
  for (char byte : text)
    isAscii &= static_cast<unsigned char>(byte) < 0x80;
  if (isAscii) {
    out.append(text);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(checkCombiningRuns(text));
  utf8proc_uint8_t *mapped = nullptr;
  utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &mapped, optionsFor(form));
  if (size < 0)
    return resourceExhausted(std::string("expected a normal form, got '") +
                             utf8proc_errmsg(size) + "'");
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped,
                                                                &std::free);
  out.append(reinterpret_cast<char *>(mapped), static_cast<size_t>(size));
  return okStatus();
}

void mtp::appendLowercase(std::string_view text, std::string &out) {
  // The only character whose lower case is two characters.
  constexpr uint32_t kCapitalDottedI = 0x130;
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos)) {
    uint32_t codePoint = decodeUtf8(text, pos);
    if (codePoint == kCapitalDottedI)
      out.append("i\xCC\x87");
    else
      appendUtf8(out, static_cast<uint32_t>(utf8proc_tolower(
                          static_cast<utf8proc_int32_t>(codePoint))));
  }
}
