//===- ChatLimits.h - Limits of chat templates ------------------*- C++ -*-===//
//
// The compiler leaves out a chat beyond these limits, and the loader refuses
// it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_CHATLIMITS_H
#define MTP_RUNTIME_SCHEMA_CHATLIMITS_H

#include <cstdint>

namespace mtp {

/// Maximum number of templates of a model, and maximum bytes of one.
inline constexpr uint32_t kMostChatTemplates = 16;
inline constexpr uint32_t kMostChatTemplateBytes = 1 << 20;
/// Maximum number of strings that templates know by name, and maximum bytes of
/// one.
inline constexpr uint32_t kMostChatTokens = 64, kMostChatTokenBytes = 1024;

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_CHATLIMITS_H
