//===- FragmentRows.cpp - Rows as tensor cores take them ------------------===//

#include "compiler/Codegen/GPU/FragmentRows.h"

#include "compiler/Codegen/Rows/RowNorm.h"
#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

/// Inputs of a row that a lane prepares: they lie together.
static constexpr int64_t kOctet = 8;
/// Octets of a unit.
static constexpr int64_t kUnitOctets = Order::kInputs / kOctet;
/// Bytes of an octet of int8, and of a row tile's unit of it.
static constexpr int64_t kOctetBytes = 8,
                         kUnitBytes = kRowTile * kUnitOctets * kOctetBytes;
/// Chains of a sum of squares, as `emitInverseRms` has them in a row kernel.
static constexpr int64_t kChains = kRowThreads / kWarp;

RowPlaces RowPlaces::get(GpuBuilder &kb, const PanelProductSpec &spec) {
  RowPlaces places;
  if (spec.gathersRows)
    places.addresses = kb.shared(kFragmentRows * 8);
  if (spec.normWeight) {
    places.squares = kb.shared(kFragmentRows * kChains * 4);
    places.inverses = kb.shared(kFragmentRows * 4);
  }
  return places;
}

FragmentRows::FragmentRows(GpuBuilder &kb, const PanelProductSpec &spec,
                           const FragmentShape &shape, const FragmentPass &pass,
                           const RowPlaces &places, Value area)
    : kb(kb), spec(spec), shape(shape), pass(pass), places(places), area(area) {
  scalePlace = kb.at(area, pass.prepared * placeBytes());
}

int64_t FragmentRows::bytes(const FragmentShape &shape,
                            const FragmentPass &pass) {
  int64_t rows = pass.rowTiles * kRowTile;
  int64_t scales = shape.isInteger() ? rows * 4 : 0;
  return pass.prepared * (rows * shape.rowBytes() + scales);
}

Value FragmentRows::number(int64_t value) {
  return kb.constant(kb.i32Type(), double(value));
}

//===----------------------------------------------------------------------===//
// Finding rows
//===----------------------------------------------------------------------===//

Value FragmentRows::rowPointer(Value row) {
  if (!spec.gathersRows)
    return spec.rowPointer(kb.add(firstRow, row));
  Value address = kb.loadOwn(kb.i64Type(), kb.at(places.addresses, row, 8));
  return kb.pointerTo(address);
}

/// Adds up the squares of the rows: a warp has a chain of a row. Behind it the
/// sums lie in `squares`, [row][chain].
void FragmentRows::sumSquares() {
  constexpr int64_t unroll = 8;
  int64_t rowsAtOnce = kb.warps() / kChains, terms = spec.k / kRowThreads;
  Value chain = kb.rem(kb.warp(), kb.integer(kChains));
  auto sumOf = [&](Value from) {
    auto add = [&](Value term, int64_t terms, Value sum) {
      Values values;
      for (int64_t i = 0; i < terms; ++i)
        values.push_back(
            kb.loadOwn(kb.f32Type(), kb.at(kb.at(from, term, kRowThreads * 4),
                                           i * kRowThreads * 4)));
      for (Value v : values)
        sum = kb.fma(v, v, sum);
      return sum;
    };
    int64_t whole = terms / unroll * unroll;
    Value sum = kb.forRange(kb.integer(0), kb.integer(whole), unroll,
                            {kb.f32(0)}, [&](Value term, ValueRange in) {
                              return Values{add(term, unroll, in[0])};
                            })[0];
    sum = add(kb.integer(whole), terms - whole, sum);
    if (int64_t rest = spec.k % kRowThreads / kWarp)
      sum = kb.choose(
          kb.cmp(Cmp::LT, chain, rest),
          [&] { return Values{add(kb.integer(terms), 1, sum)}; },
          [&] { return Values{sum}; })[0];
    return kb.reduceWarp({sum}, [&](ValueRange a, ValueRange b) {
      return Values{kb.add(a[0], b[0])};
    })[0];
  };
  kb.forRange(kb.integer(0), count, rowsAtOnce, [&](Value first) {
    Value row = kb.add(first, kb.div(kb.warp(), kChains));
    kb.ifThen(kb.cmp(Cmp::LT, row, count), [&] {
      Value sum = sumOf(
          kb.at(kb.at(rowPointer(row), chain, kWarp * 4), kb.laneOfWarp(), 4));
      Value to = kb.at(kb.at(places.squares, row, kChains * 4), chain, 4);
      kb.storeOwn(sum, to, kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
    });
  });
}

/// Nothing is stored of rows that a tile lacks, but they are multiplied.
void FragmentRows::clear() {
  Value zero = kb.constant(kb.vectorType(kb.i32Type(), 4), 0);
  int64_t all = llvm::alignTo(bytes(shape, pass), 16);
  for (int64_t first = 0; first < all; first += kWarp * 16) {
    Value at = kb.add(kb.mul(kb.laneOfWarp(), 16), first);
    kb.storeOwn(zero, kb.at(area, at, 1),
                first + kWarp * 16 > all ? kb.cmp(Cmp::LT, at, all) : Value());
  }
}

void FragmentRows::find(Value first, Value rowCount) {
  firstRow = first;
  count = rowCount;
  clear();
  Value isOwner = kb.cmp(Cmp::LT, kb.thread(), count);
  if (spec.gathersRows) {
    kb.ifThen(isOwner, [&] {
      Value row = spec.rowPointer(kb.add(firstRow, kb.thread()));
      kb.storeOwn(kb.addressOf(row), kb.at(places.addresses, kb.thread(), 8));
    });
    kb.sync();
  }
  if (!spec.normWeight)
    return;
  sumSquares();
  kb.sync();
  kb.ifThen(isOwner, [&] {
    Value from = kb.at(places.squares, kb.thread(), kChains * 4), sum;
    for (int64_t i = 0; i < kChains; ++i) {
      Value part = kb.loadOwn(kb.f32Type(), kb.at(from, i * 4));
      sum = sum ? kb.add(sum, part) : part;
    }
    kb.storeOwn(emitInverseOfSquares(kb, sum, spec.k, spec.eps),
                kb.at(places.inverses, kb.thread(), 4));
  });
  kb.sync();
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

/// Eight values that lie together, zeros where `mask` is false; null
/// `isAligned`: at a multiple of 16 bytes.
Values FragmentRows::loadEight(Value from, Value isAligned, Value mask) {
  auto inVectors = [&] {
    Values values;
    for (int64_t i = 0; i < kOctet; i += 4) {
      Value four =
          kb.loadOwn(kb.vectorType(kb.f32Type(), 4), kb.at(from, i * 4));
      for (int64_t j = 0; j < 4; ++j)
        values.push_back(kb.element(four, j));
    }
    return values;
  };
  auto oneByOne = [&] {
    Values values;
    for (int64_t i = 0; i < kOctet; ++i)
      values.push_back(kb.loadOwn(kb.f32Type(), kb.at(from, i * 4)));
    return values;
  };
  auto load = [&] {
    return isAligned ? kb.choose(isAligned, inVectors, oneByOne) : inVectors();
  };
  if (!mask)
    return load();
  return kb.choose(mask, load, [&] { return Values(kOctet, kb.f32(0)); });
}

/// An octet of a row, normed.
Values FragmentRows::inputs(Value row, Value index, Value mask) {
  Value from = kb.at(rowPointer(row), index, 4);
  Values values = loadEight(from, kb.isAligned(from, 16), mask);
  if (!spec.normWeight)
    return values;
  Value inverse = kb.loadOwn(kb.f32Type(), kb.at(places.inverses, row, 4));
  Values weights = loadEight(kb.at(spec.normWeight, index, 4), Value(), mask);
  for (auto [value, weight] : llvm::zip(values, weights))
    value = emitScaleByNorm(kb, value, inverse, weight, spec.normOffset);
  return values;
}

/// Where an octet (i32) of a row (i32) lies in a place.
Value FragmentRows::bytePlace(Value row, Value octet) {
  if (!shape.isInteger())
    return kb.add(kb.mul(row, number(shape.rowBytes())),
                  kb.mul(octet, number(2 * kOctetBytes)));
  // [row tile][unit][row][octet]: a warp's operands are one piece.
  auto part = [&](Value value, int64_t by, int64_t bytes) {
    return kb.mul(kb.shiftRight(value, number(by)), number(bytes));
  };
  auto low = [&](Value value, int64_t count, int64_t bytes) {
    return kb.mul(kb.bitAnd(value, number(count - 1)), number(bytes));
  };
  Value tile = part(row, 3, shape.units() * kUnitBytes);
  Value unit = part(octet, 2, kUnitBytes);
  Value inTile = low(row, kRowTile, kUnitOctets * kOctetBytes);
  return kb.add(kb.add(tile, unit),
                kb.add(inTile, low(octet, kUnitOctets, kOctetBytes)));
}

void FragmentRows::storeBF16(ValueRange values, Value to, Value mask) {
  Values words;
  for (int64_t i = 0; i < kOctet; i += 2)
    words.push_back(kb.packBF16(values[i], values[i + 1]));
  kb.storeOwn(kb.vectorOf(words), to, mask);
}

/// Quantises an octet with the others of its group, which neighbouring lanes
/// have; returns the group's scale.
Value FragmentRows::storeIntegers(ValueRange values, int64_t octets, Value to,
                                  Value mask) {
  Value largest;
  for (Value value : values) {
    Value bits = emitMagnitudeBits(kb, value);
    largest = largest ? kb.max(bits, largest) : bits;
  }
  for (int64_t distance = 1; distance < octets; distance *= 2)
    largest = kb.max(kb.shuffleXor(largest, distance), largest);
  RowScale scale = emitRowScale(kb, largest);
  Values words;
  for (int64_t i = 0; i < kOctet; i += 4) {
    Values four;
    for (Value value : values.slice(i, 4))
      four.push_back(emitRowInteger(kb, value, scale));
    words.push_back(kb.packBytes(four));
  }
  kb.storeOwn(kb.vectorOf(words), to, mask);
  return scale.scale;
}

void FragmentRows::prepare(Value first) {
  int64_t octets = shape.chunkInputs() / kOctet;
  Value lane = kb.truncate(kb.laneOfWarp(), kb.i32Type());
  Value all = kb.mul(count, pass.prepared * octets);
  auto shifted = [&](Value value, int64_t by) {
    return kb.shiftRight(value, number(llvm::Log2_64(by)));
  };
  // What was there may still be read.
  kb.syncWarp();
  kb.forRange(kb.integer(0), all, kWarp, [&](Value base) {
    Value item = kb.add(kb.truncate(base, kb.i32Type()), lane);
    Value octet = kb.bitAnd(item, number(octets - 1));
    Value pair = shifted(item, octets);
    Value place = kb.bitAnd(pair, number(pass.prepared - 1));
    Value given = shifted(pair, pass.prepared);
    Value last = kb.sub(kb.truncate(count, kb.i32Type()), number(1));
    Value isReal = kb.cmp(Cmp::LE, given, last);
    Value row = kb.min(given, last);
    Value chunk = kb.add(
        first, kb.mul(kb.extend(place, kb.i64Type()), kb.integer(kb.warps())));
    chunk = kb.min(chunk, kb.integer(shape.chunks() - 1));
    Value index =
        kb.add(kb.mul(chunk, shape.chunkInputs()),
               kb.extend(kb.mul(octet, number(kOctet)), kb.i64Type()));
    // Behind the last input there are zeros.
    Value mask = shape.restInputs() ? kb.cmp(Cmp::LT, index, shape.k) : Value();
    Values values = inputs(kb.extend(row, kb.i64Type()), index, mask);
    Value placed = kb.extend(place, kb.i64Type());
    Value to = kb.at(kb.at(area, placed, placeBytes()),
                     kb.extend(bytePlace(row, octet), kb.i64Type()), 1);
    if (!shape.isInteger())
      return storeBF16(values, to, isReal);
    Value scale = storeIntegers(values, octets, to, isReal);
    Value scaleTo = kb.at(kb.at(scalePlace, placed, rows() * 4),
                          kb.extend(row, kb.i64Type()), 4);
    kb.storeOwn(scale, scaleTo,
                kb.bitAnd(isReal, kb.cmp(Cmp::EQ, octet, number(0))));
  });
  kb.syncWarp();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Values FragmentRows::operands(int64_t place, int64_t rowTile, int64_t unit) {
  // A row tile's rows and a unit's octets follow each other as lanes do.
  int64_t bytes = shape.isInteger() ? kOctetBytes : 2 * kOctetBytes;
  Value from = kb.at(area, kb.laneOfWarp(), bytes);
  from =
      kb.at(from, place * placeBytes() + rowTile * kRowTile * shape.rowBytes() +
                      unit * kUnitBytes);
  return kb.loadWords(from, bytes / 4);
}

Values FragmentRows::scales(int64_t place, int64_t rowTile) {
  Value columns = kb.rem(kb.laneOfWarp(), kb.integer(4));
  Value from = kb.at(kb.at(scalePlace, columns, 8),
                     (place * rows() + rowTile * kRowTile) * 4);
  Value pair = kb.loadOwn(kb.vectorType(kb.f32Type(), 2), from);
  return {kb.element(pair, 0), kb.element(pair, 1)};
}
