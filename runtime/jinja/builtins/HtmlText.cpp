//===- HtmlText.cpp - Text from HTML --------------------------------------===//

#include "runtime/jinja/builtins/HtmlText.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <charconv>
#include <utility>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// Code points for the numbers 0x80 to 0x9F, which browsers read as
/// Windows-1252.
constexpr uint16_t kWindows[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
    0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
    0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

constexpr size_t kMaxNameLength = 32;

/// The characters with a name in HTML 4, "NAME=HEX ". Those up to U+00FF need
/// no semicolon, except "apos".
constexpr std::string_view kEntities =
    "AElig=C6 AMP=26 Aacute=C1 Acirc=C2 Agrave=C0 Alpha=391 Aring=C5 Atilde=C3 "
    "Auml=C4 Beta=392 COPY=A9 Ccedil=C7 Chi=3A7 Dagger=2021 Delta=394 ETH=D0 "
    "Eacute=C9 Ecirc=CA Egrave=C8 Epsilon=395 Eta=397 Euml=CB GT=3E Gamma=393 "
    "Iacute=CD Icirc=CE Igrave=CC Iota=399 Iuml=CF Kappa=39A LT=3C Lambda=39B "
    "Mu=39C Ntilde=D1 Nu=39D OElig=152 Oacute=D3 Ocirc=D4 Ograve=D2 Omega=3A9 "
    "Omicron=39F Oslash=D8 Otilde=D5 Ouml=D6 Phi=3A6 Pi=3A0 Prime=2033 Psi=3A8 "
    "QUOT=22 REG=AE Rho=3A1 Scaron=160 Sigma=3A3 THORN=DE Tau=3A4 Theta=398 "
    "Uacute=DA Ucirc=DB Ugrave=D9 Upsilon=3A5 Uuml=DC Xi=39E Yacute=DD "
    "Yuml=178 Zeta=396 aacute=E1 acirc=E2 acute=B4 aelig=E6 agrave=E0 "
    "alefsym=2135 alpha=3B1 amp=26 and=2227 ang=2220 apos=27 aring=E5 "
    "asymp=2248 atilde=E3 auml=E4 bdquo=201E beta=3B2 brvbar=A6 bull=2022 "
    "cap=2229 ccedil=E7 cedil=B8 cent=A2 chi=3C7 circ=2C6 clubs=2663 cong=2245 "
    "copy=A9 crarr=21B5 cup=222A curren=A4 dArr=21D3 dagger=2020 darr=2193 "
    "deg=B0 delta=3B4 diams=2666 divide=F7 eacute=E9 ecirc=EA egrave=E8 "
    "empty=2205 emsp=2003 ensp=2002 epsilon=3B5 equiv=2261 eta=3B7 eth=F0 "
    "euml=EB euro=20AC exist=2203 fnof=192 forall=2200 frac12=BD frac14=BC "
    "frac34=BE frasl=2044 gamma=3B3 ge=2265 gt=3E hArr=21D4 harr=2194 "
    "hearts=2665 hellip=2026 iacute=ED icirc=EE iexcl=A1 igrave=EC image=2111 "
    "infin=221E int=222B iota=3B9 iquest=BF isin=2208 iuml=EF kappa=3BA "
    "lArr=21D0 lambda=3BB lang=27E8 laquo=AB larr=2190 lceil=2308 ldquo=201C "
    "le=2264 lfloor=230A lowast=2217 loz=25CA lrm=200E lsaquo=2039 lsquo=2018 "
    "lt=3C macr=AF mdash=2014 micro=B5 middot=B7 minus=2212 mu=3BC nabla=2207 "
    "nbsp=A0 ndash=2013 ne=2260 ni=220B not=AC notin=2209 nsub=2284 ntilde=F1 "
    "nu=3BD oacute=F3 ocirc=F4 oelig=153 ograve=F2 oline=203E omega=3C9 "
    "omicron=3BF oplus=2295 or=2228 ordf=AA ordm=BA oslash=F8 otilde=F5 "
    "otimes=2297 ouml=F6 para=B6 part=2202 permil=2030 perp=22A5 phi=3C6 "
    "pi=3C0 piv=3D6 plusmn=B1 pound=A3 prime=2032 prod=220F prop=221D psi=3C8 "
    "quot=22 rArr=21D2 radic=221A rang=27E9 raquo=BB rarr=2192 rceil=2309 "
    "rdquo=201D real=211C reg=AE rfloor=230B rho=3C1 rlm=200F rsaquo=203A "
    "rsquo=2019 sbquo=201A scaron=161 sdot=22C5 sect=A7 shy=AD sigma=3C3 "
    "sigmaf=3C2 sim=223C spades=2660 sub=2282 sube=2286 sum=2211 sup=2283 "
    "sup1=B9 sup2=B2 sup3=B3 supe=2287 szlig=DF tau=3C4 there4=2234 theta=3B8 "
    "thetasym=3D1 thinsp=2009 thorn=FE tilde=2DC times=D7 trade=2122 uArr=21D1 "
    "uacute=FA uarr=2191 ucirc=FB ugrave=F9 uml=A8 upsih=3D2 upsilon=3C5 "
    "uuml=FC weierp=2118 xi=3BE yacute=FD yen=A5 yuml=FF zeta=3B6 zwj=200D "
    "zwnj=200C ";

/// Returns the code point of a name, or 0.
uint32_t findEntity(std::string_view name, bool hasSemicolon) {
  for (std::string_view rest = kEntities; !rest.empty();) {
    std::string_view entry = rest.substr(0, rest.find(' '));
    rest.remove_prefix(entry.size() + 1);
    size_t equals = entry.find('=');
    if (entry.substr(0, equals) != name)
      continue;
    uint32_t codePoint = 0;
    std::from_chars(entry.data() + equals + 1, entry.data() + entry.size(),
                    codePoint, 16);
    bool isFound = hasSemicolon || (codePoint <= 0xFF && name != "apos");
    return isFound ? codePoint : 0;
  }
  return 0;
}

/// Returns whether html.unescape() drops a number.
bool isNothing(uint32_t number) {
  return (number >= 1 && number <= 8) || number == 0xB ||
         (number >= 0xE && number <= 0x1F) ||
         (number >= 0x7F && number <= 0x9F) ||
         (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFE) == 0xFFFE;
}

std::string characterOf(uint32_t number) {
  std::string text;
  if (number >= 0x80 && number <= 0x9F)
    appendUtf8(text, kWindows[number - 0x80]);
  else if (number == 0 || (number >= 0xD800 && number <= 0xDFFF) ||
           number > 0x10FFFF)
    appendUtf8(text, 0xFFFD);
  else if (!isNothing(number))
    appendUtf8(text, number);
  return text;
}

bool isAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

/// Appends the character of "#38;" after an '&'. Returns the number of bytes
/// read, or 0 if there is no number.
size_t appendNumber(std::string_view text, std::string &out) {
  bool isHex = text.size() > 1 && (text[1] | 0x20) == 'x';
  size_t first = isHex ? 2 : 1;
  uint32_t number = 0;
  const char *begin = text.data() + std::min(first, text.size());
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), number,
                                      isHex ? 16 : 10);
  if (end == begin)
    return 0;
  out += characterOf(error == std::errc() ? number : 0x110000);
  auto at = static_cast<size_t>(end - text.data());
  return at < text.size() && text[at] == ';' ? at + 1 : at;
}

/// Appends the character of a name after an '&' and the rest of the name. An
/// unknown name without a semicolon becomes the character of its longest known
/// prefix. Returns the number of bytes read. Fails for a name that may be one
/// of HTML 5.
Result<size_t> appendName(std::string_view text, std::string &out) {
  constexpr std::string_view kEnds = "\t\n\f <&#;";
  size_t end = 0;
  for (size_t count = 0; end < text.size() && count < kMaxNameLength &&
                         kEnds.find(text[end]) == kEnds.npos;
       ++count)
    end += utf8Length(text, end);
  std::string_view name = text.substr(0, end);
  bool hasSemicolon = end > 0 && end < text.size() && text[end] == ';';
  if (uint32_t codePoint = hasSemicolon ? findEntity(name, true) : 0) {
    appendUtf8(out, codePoint);
    return end + 1;
  }
  if (hasSemicolon && std::ranges::all_of(name, isAlphanumeric))
    return unimplemented(
        strCat("expected a named character of HTML 4, got '&", name, ";'"));
  for (size_t size = end; size >= 2; --size)
    if (uint32_t codePoint = findEntity(name.substr(0, size), false)) {
      appendUtf8(out, codePoint);
      out += name.substr(size);
      return end;
    }
  out += '&';
  out += name;
  return end;
}

/// Implements Python's html.unescape().
Result<std::string> unescapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t mark = std::min(text.find('&'), text.size());
    out.append(text.substr(0, mark));
    text.remove_prefix(mark);
    if (text.empty())
      break;
    text.remove_prefix(1);
    size_t taken = 0;
    if (text.starts_with('#')) {
      taken = appendNumber(text, out);
      out += taken == 0 ? "&" : "";
    } else {
      MTP_ASSIGN_OR_RETURN(taken, appendName(text, out));
    }
    text.remove_prefix(taken);
  }
  return out;
}

/// Removes comments like MarkupSafe 3. Text around a removed comment may form
/// the start of another comment. A comment without an end stays, with all text
/// after it.
std::string withoutComments(std::string_view text) {
  constexpr std::string_view kOpen = "<!--", kClose = "-->";
  std::string out;
  while (!text.empty()) {
    out += text.front();
    text.remove_prefix(1);
    if (!out.ends_with(kOpen))
      continue;
    // The dashes of the start may be part of the end.
    size_t end = text.starts_with(">")    ? 1
                 : text.starts_with("->") ? 2
                                          : text.find(kClose);
    if (end == text.npos)
      return out.append(text);
    out.resize(out.size() - kOpen.size());
    bool isOwn = text.starts_with(">") || text.starts_with("->");
    text.remove_prefix(isOwn ? end : end + kClose.size());
  }
  return out;
}

/// Removes comments and tags. A tag without an end stays, with all text after
/// it.
std::string withoutTags(std::string_view whole) {
  std::string kept = withoutComments(whole), out;
  std::string_view text = kept;
  for (;;) {
    size_t start = text.find('<');
    size_t end = start == text.npos ? start : text.find('>', start);
    if (end == text.npos)
      return out.append(text);
    out.append(text.substr(0, start));
    text.remove_prefix(end + 1);
  }
}

/// Replaces white space between words by single spaces.
std::string withSingleSpaces(std::string_view text) {
  std::string out;
  bool isBehindSpace = false;
  for (size_t at = 0, size; at < text.size(); at += size) {
    size = utf8Length(text, at);
    if (isSpace(decodeUtf8(text, at))) {
      isBehindSpace = !out.empty();
      continue;
    }
    if (std::exchange(isBehindSpace, false))
      out += ' ';
    out += text.substr(at, size);
  }
  return out;
}

} // namespace

Result<std::string> jinja::stripTags(std::string_view text) {
  return unescapeHtml(withSingleSpaces(withoutTags(text)));
}
