//===- StrCat.h - Messages from parts ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_STRCAT_H
#define MTP_RUNTIME_CORE_STRCAT_H

#include <string>
#include <string_view>
#include <type_traits>

namespace mtp {

inline void appendPart(std::string &out, std::string_view part) {
  out.append(part);
}

template <typename T>
std::enable_if_t<std::is_arithmetic_v<T>> appendPart(std::string &out,
                                                     T number) {
  out.append(std::to_string(number));
}

/// Joins strings and numbers: strCat("programs[", 3, "]").
template <typename... Parts>
std::string strCat(const Parts &...parts) {
  std::string out;
  (appendPart(out, parts), ...);
  return out;
}

} // namespace mtp

#endif // MTP_RUNTIME_CORE_STRCAT_H
