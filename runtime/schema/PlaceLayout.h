//===- PlaceLayout.h - Places of drafters' entries --------------*- C++ -*-===//
//
// Words of the state `drafter_places` for each k of a slot. FORMAT.md explains
// them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_PLACELAYOUT_H
#define MTP_RUNTIME_SCHEMA_PLACELAYOUT_H

#include <cstdint>

namespace mtp {

enum PlaceWord : uint32_t {
  /// Number of positions without an entry before the next rows: a row's place
  /// is its position minus this number. INT32_MAX: no row has a place.
  kPlaceSkipped,
  /// Rows whose place is below this one are padding rows.
  kPlaceFirst,
  kPlaceWords
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_PLACELAYOUT_H
