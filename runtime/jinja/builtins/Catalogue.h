//===- Catalogue.h - The filters and tests that there are -------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_CATALOGUE_H
#define MTP_RUNTIME_JINJA_BUILTINS_CATALOGUE_H

#include <string_view>

namespace mtp::jinja {

bool isFilter(std::string_view name);
bool isTest(std::string_view name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_CATALOGUE_H
