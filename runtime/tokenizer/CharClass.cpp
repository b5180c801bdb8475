//===- CharClass.cpp - White space and word characters --------------------===//

#include "runtime/tokenizer/CharClass.h"

#include <utf8proc.h>

using namespace mtp;

bool mtp::isWhiteSpace(uint32_t codePoint) {
  if (codePoint < 0x80)
    return codePoint == ' ' || (codePoint >= '\t' && codePoint <= '\r');
  switch (codePoint) {
  case 0x85:
  case 0xA0:
  case 0x1680:
  case 0x2028:
  case 0x2029:
  case 0x202F:
  case 0x205F:
  case 0x3000:
    return true;
  default:
    return codePoint >= 0x2000 && codePoint <= 0x200A;
  }
}

bool mtp::isWordCharacter(uint32_t codePoint) {
  if (codePoint == 0x200C || codePoint == 0x200D)
    return true;
  // Letters in circles and squares are symbols with the property Alphabetic.
  if ((codePoint >= 0x24B6 && codePoint <= 0x24E9) ||
      (codePoint >= 0x1F130 && codePoint <= 0x1F149) ||
      (codePoint >= 0x1F150 && codePoint <= 0x1F169) ||
      (codePoint >= 0x1F170 && codePoint <= 0x1F189))
    return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(codePoint))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    return false;
  }
}
