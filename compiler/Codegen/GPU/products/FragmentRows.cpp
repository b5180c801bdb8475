//===- FragmentRows.cpp - Rows in the form of tensor cores ----------------===//

#include "compiler/Codegen/GPU/products/FragmentRows.h"

#include "compiler/Codegen/Rows/RowNorm.h"
#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

/// Number of consecutive inputs of a row that a lane quantises.
static constexpr int64_t kOctet = 8;
/// Number of octets of a unit.
static constexpr int64_t kUnitOctets = Order::kInputs / kOctet;
/// Bytes of an octet of int8, and of a unit of a row tile in int8.
static constexpr int64_t kOctetBytes = 8,
                         kUnitBytes = kRowTile * kUnitOctets * kOctetBytes;
/// Number of chains of a sum of squares, as in `emitInverseRms` of a row
/// kernel.
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

/// Adds up the squares of the rows. A warp has a chain of a row. Afterwards the
/// sums are in `squares`, [row][chain].
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
  // A number in shared memory is read for each row and takes no register.
  Value end = places.countAt < 0 ? count : kb.integer(rows());
  kb.forRange(kb.integer(0), end, rowsAtOnce, [&](Value first) {
    Value row = kb.add(first, kb.div(kb.warp(), kChains));
    kb.ifThen(kb.cmp(Cmp::LT, row, found()), [&] {
      Value sum = sumOf(
          kb.at(kb.at(rowPointer(row), chain, kWarp * 4), kb.laneOfWarp(), 4));
      Value to = kb.at(kb.at(places.squares, row, kChains * 4), chain, 4);
      kb.storeOwn(sum, to, kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
    });
  });
}

/// Clears the area: rows that a tile lacks are multiplied, but not stored.
void FragmentRows::clear() {
  Value zero = kb.constant(kb.vectorType(kb.i32Type(), 4), 0);
  int64_t all = llvm::alignTo(bytes(shape, pass), 16);
  for (int64_t first = 0; first < all; first += kWarp * 16) {
    Value at = kb.add(kb.mul(kb.laneOfWarp(), 16), first);
    kb.storeOwn(zero, kb.at(area, at, 1),
                first + kWarp * 16 > all ? kb.cmp(Cmp::LT, at, all) : Value());
  }
}

Value FragmentRows::found() {
  if (places.countAt < 0)
    return count;
  Value own = kb.at(area, places.countAt);
  return kb.extendUnsigned(kb.loadOwn(kb.i32Type(), own), kb.i64Type());
}

void FragmentRows::find(Value first, Value rowCount) {
  firstRow = first;
  count = rowCount;
  if (places.countAt >= 0)
    kb.storeOwn(kb.truncate(count, kb.i32Type()), kb.at(area, places.countAt),
                kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0));
  clear();
  if (places.countAt >= 0)
    kb.syncWarp();
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

/// Returns the inputs of a piece, normed, with zeros after the row's last one.
Values FragmentRows::inputs(const Piece &piece) {
  constexpr int64_t atOnce = 4;
  Value row = kb.extend(piece.row, kb.i64Type());
  Value from = kb.at(rowPointer(row), piece.index, 4), weights, inverse;
  if (spec.normWeight) {
    weights = kb.at(spec.normWeight, piece.index, 4);
    inverse = kb.loadOwn(kb.f32Type(), kb.at(places.inverses, row, 4));
  }
  auto load = [&] {
    Values values;
    for (int64_t i = 0; i < piece.inputs; i += atOnce) {
      auto loadFour = [&](Value base) {
        return kb.loadOwn(kb.vectorType(kb.f32Type(), atOnce),
                          kb.at(base, i * 4));
      };
      Value four = loadFour(from);
      Value scales = weights ? loadFour(weights) : Value();
      for (int64_t j = 0; j < atOnce; ++j) {
        Value value = kb.element(four, j);
        if (scales)
          value = emitScaleByNorm(kb, value, inverse, kb.element(scales, j),
                                  spec.normOffset);
        values.push_back(value);
      }
    }
    return values;
  };
  if (!shape.restInputs())
    return load();
  return kb.choose(kb.cmp(Cmp::LT, piece.index, shape.k), load,
                   [&] { return Values(piece.inputs, kb.f32(0)); });
}

/// Returns the place of an octet's integers.
Value FragmentRows::octetPlace(const Piece &octet) {
  // [row tile][unit][row][octet]: a warp's operands are contiguous.
  auto part = [&](Value value, int64_t by, int64_t bytes) {
    return kb.mul(kb.shiftRight(value, number(by)), number(bytes));
  };
  auto low = [&](Value value, int64_t count, int64_t bytes) {
    return kb.mul(kb.bitAnd(value, number(count - 1)), number(bytes));
  };
  Value tile = part(octet.row, 3, shape.units() * kUnitBytes);
  Value unit = part(octet.ofChunk, 2, kUnitBytes);
  Value inTile = low(octet.row, kRowTile, kUnitOctets * kOctetBytes);
  Value place =
      kb.add(kb.add(tile, unit),
             kb.add(inTile, low(octet.ofChunk, kUnitOctets, kOctetBytes)));
  return kb.at(kb.at(area, octet.place, placeBytes()),
               kb.extend(place, kb.i64Type()), 1);
}

void FragmentRows::storeBF16(const Piece &piece, ValueRange values) {
  Values words;
  for (int64_t i = 0; i < piece.inputs; i += 2)
    words.push_back(kb.packBF16(values[i], values[i + 1]));
  Value place = kb.add(kb.mul(piece.row, number(shape.rowBytes())),
                       kb.mul(piece.ofChunk, number(2 * piece.inputs)));
  Value to = kb.at(kb.at(area, piece.place, placeBytes()),
                   kb.extend(place, kb.i64Type()), 1);
  kb.storeOwn(kb.vectorOf(words), to);
}

/// Quantises an octet together with the other octets of its group, which
/// neighbouring lanes have. Returns the scale of the group.
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

/// Returns the piece number `item` (i64) of the prepared pieces.
FragmentRows::Piece FragmentRows::pieceAt(Value item, Value first,
                                          int64_t inputs) {
  int64_t pieces = shape.chunkInputs() / inputs;
  auto part = [&](Value value, int64_t count) {
    return kb.bitAnd(value, number(count - 1));
  };
  auto shifted = [&](Value value, int64_t by) {
    return kb.shiftRight(value, number(llvm::Log2_64(by)));
  };
  Piece piece{inputs};
  item = kb.truncate(item, kb.i32Type());
  piece.ofChunk = part(item, pieces);
  item = shifted(item, pieces);
  piece.place = kb.extend(part(item, pass.prepared), kb.i64Type());
  piece.row = shifted(item, pass.prepared);
  Value chunk = kb.add(first, kb.mul(piece.place, kb.integer(kb.warps())));
  // A round over all stages may go beyond the last chunk.
  if (shape.chunks() % (kb.warps() * pass.stages))
    chunk = kb.min(chunk, kb.integer(shape.chunks() - 1));
  piece.index =
      kb.add(kb.mul(chunk, shape.chunkInputs()),
             kb.extend(kb.mul(piece.ofChunk, number(inputs)), kb.i64Type()));
  return piece;
}

/// Rounds rows to bf16. A lane takes every 32nd piece. The number of loads
/// before the first store depends on the registers that sums and norm weights
/// leave.
void FragmentRows::prepareBF16(Value first) {
  int64_t inputs = spec.normWeight ? kOctet / 2 : kOctet;
  bool isFull =
      spec.normWeight || spec.gathersRows || spec.gated || pass.rowTiles > 2;
  int64_t most = isFull ? 1 : 2;
  Value all = kb.mul(found(), pass.prepared * shape.chunkInputs() / inputs);
  auto prepare = [&](Value item, int64_t pieces) {
    llvm::SmallVector<std::pair<Piece, Values>> loaded;
    for (int64_t i = 0; i < pieces; ++i) {
      Piece piece = pieceAt(kb.add(item, i * kWarp), first, inputs);
      loaded.push_back({piece, this->inputs(piece)});
    }
    for (auto &[piece, values] : loaded)
      storeBF16(piece, values);
  };
  kb.forRange(kb.laneOfWarp(), all, most * kWarp, [&](Value item) {
    if (most == 1)
      return prepare(item, 1);
    kb.ifElse(
        kb.cmp(Cmp::LT, kb.add(item, kWarp), all), [&] { prepare(item, 2); },
        [&] { prepare(item, 1); });
  });
}

void FragmentRows::prepareIntegers(Value first) {
  int64_t octets = shape.chunkInputs() / kOctet;
  Value count = found(), all = kb.mul(count, pass.prepared * octets);
  kb.forRange(kb.integer(0), all, kWarp, [&](Value base) {
    Piece octet = pieceAt(kb.add(base, kb.laneOfWarp()), first, kOctet);
    // Lanes without a row use the last row, and store nothing.
    Value last = kb.sub(kb.truncate(count, kb.i32Type()), number(1));
    Value isReal = kb.cmp(Cmp::LE, octet.row, last);
    octet.row = kb.min(octet.row, last);
    Value scale =
        storeIntegers(inputs(octet), octets, octetPlace(octet), isReal);
    Value scaleTo = kb.at(kb.at(scalePlace, octet.place, rows() * 4),
                          kb.extend(octet.row, kb.i64Type()), 4);
    kb.storeOwn(scale, scaleTo,
                kb.bitAnd(isReal, kb.cmp(Cmp::EQ, octet.ofChunk, number(0))));
  });
}

void FragmentRows::prepare(Value first) {
  // Other lanes may still read the old contents.
  kb.syncWarp();
  if (shape.isInteger())
    prepareIntegers(first);
  else
    prepareBF16(first);
  kb.syncWarp();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

llvm::SmallVector<Values> FragmentRows::operands(Value, int64_t place,
                                                 int64_t rowTile) {
  llvm::SmallVector<Values> units;
  for (int64_t unit = 0; unit < shape.units(); ++unit)
    units.push_back(operandsOf(place, rowTile, unit));
  return units;
}

Values FragmentRows::operandsOf(int64_t place, int64_t rowTile, int64_t unit) {
  // The rows of a row tile and the octets of a unit are in the order of the
  // lanes.
  int64_t bytes = shape.isInteger() ? kOctetBytes : 2 * kOctetBytes;
  Value from = kb.at(area, kb.laneOfWarp(), bytes);
  from =
      kb.at(from, place * placeBytes() + rowTile * kRowTile * shape.rowBytes() +
                      unit * kUnitBytes);
  return kb.loadWords(from, bytes / 4);
}

Values FragmentRows::scales(Value, int64_t place, int64_t rowTile) {
  Value columns = kb.rem(kb.laneOfWarp(), kb.integer(4));
  Value from = kb.at(kb.at(scalePlace, columns, 8),
                     (place * rows() + rowTile * kRowTile) * 4);
  Value pair = kb.loadOwn(kb.vectorType(kb.f32Type(), 2), from);
  return {kb.element(pair, 0), kb.element(pair, 1)};
}
