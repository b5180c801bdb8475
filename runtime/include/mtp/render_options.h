//===- render_options.h - Limits of a template's rendering ------*- C++ -*-===//
//
// Units: sizes are in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_RENDER_OPTIONS_H
#define MTP_RUNTIME_INCLUDE_MTP_RENDER_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>

namespace mtp {

/// The longest source of a template.
inline constexpr size_t kMaxTemplateBytes = size_t(1) << 20;

/// Limits of one rendering, and its time.
struct RenderOptions {
  /// The time that strftime_now() formats; if absent, this machine's local
  /// time.
  std::optional<std::tm> now;
  /// The most work: 1 for each node that is evaluated, more for large values.
  uint64_t maxSteps = 10'000'000;
  /// Limit on the bytes of all intermediate values together.
  uint64_t maxMadeBytes = uint64_t(1) << 30;
  uint64_t maxOutputBytes = uint64_t(1) << 25;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_RENDER_OPTIONS_H
