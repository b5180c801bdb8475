//===- PlaceWords.h - Where drafters have their entries ---------*- C++ -*-===//
//
// The words that the state `drafter_places` has for each k of a slot. FORMAT.md
// says what they are for.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_PLACEWORDS_H
#define MTP_RUNTIME_SCHEMA_PLACEWORDS_H

#include <cstdint>

namespace mtp {

enum PlaceWord : uint32_t {
  /// Positions without an entry in front of the rows that come: a row's place
  /// is so far in front of its position. INT32_MAX: no row has a place.
  kPlaceSkipped,
  /// Rows whose place is before this one are dead.
  kPlaceFirst,
  kPlaceWords
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_PLACEWORDS_H
