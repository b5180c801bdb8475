//===- DrafterTexts.h - The texts of the drafter library --------*- C++ -*-===//
//
// Private to DrafterLibrary. Each function returns one file;
// tools/cmake/EmbedFile.cmake writes its definition.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_LIBRARY_DRAFTERTEXTS_H
#define MTP_COMPILER_IMPORT_LIBRARY_DRAFTERTEXTS_H

#include <string_view>

namespace mtp::drafters {

#define MTP_DRAFTER(NAME) std::string_view NAME##Text();
#include "compiler/Import/library/DrafterNames.inc"
#undef MTP_DRAFTER

} // namespace mtp::drafters

#endif // MTP_COMPILER_IMPORT_LIBRARY_DRAFTERTEXTS_H
