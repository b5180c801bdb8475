//===- Values.cpp - Values of the runtime as values of Python -------------===//

#include "tools/python/src/Values.h"

#include "runtime/core/StrCat.h"
#include "tools/python/src/Errors.h"

#include <array>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

using namespace mtp;
namespace nb = nanobind;

/// The names by the values of ElementType.
static constexpr std::array<std::string_view, 10> kElements = {
    "f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool"};

std::string_view python::nameOf(ElementType type) {
  return kElements[size_t(type)];
}

static ElementType elementOf(std::string_view name) {
  for (size_t i = 0; i < kElements.size(); ++i)
    if (kElements[i] == name)
      return ElementType(i);
  throw python::StatusError(
      invalidArgument(strCat("expected an element type, got '", name, "'")));
}

static nb::tuple shapeOf(const TensorType &type) {
  nb::list shape;
  for (uint64_t size : type.shape)
    shape.append(size);
  return nb::tuple(shape);
}

nb::tuple python::toPython(const TensorType &type) {
  return nb::make_tuple(nameOf(type.element), shapeOf(type));
}

nb::tuple python::toPython(Tensor tensor) {
  auto *bytes = new std::vector<uint8_t>(std::move(tensor.bytes));
  nb::capsule owner(bytes, [](void *pointer) noexcept {
    delete static_cast<std::vector<uint8_t> *>(pointer);
  });
  ByteArray array(bytes->data(), {bytes->size()}, owner);
  return nb::make_tuple(nameOf(tensor.type.element), shapeOf(tensor.type),
                        array);
}

Tensor python::toTensor(const nb::tuple &value) {
  Tensor tensor;
  tensor.type.element = elementOf(nb::cast<std::string>(value[0]));
  tensor.type.shape = nb::cast<std::vector<uint64_t>>(value[1]);
  auto bytes = nb::cast<ConstBytes>(value[2]);
  uint64_t expected = elementBytes(tensor.type.element);
  for (uint64_t size : tensor.type.shape)
    if (__builtin_mul_overflow(expected, size, &expected))
      throw StatusError(invalidArgument("expected a shape that fits into 64 "
                                        "bits, got a larger one"));
  if (bytes.size() != expected)
    throw StatusError(invalidArgument(
        strCat("expected ", expected, " bytes of ", mtp::toString(tensor.type),
               ", got ", bytes.size())));
  tensor.bytes.assign(bytes.data(), bytes.data() + bytes.size());
  return tensor;
}

nb::list python::toPython(const std::vector<PortType> &ports) {
  nb::list list;
  for (const PortType &port : ports)
    list.append(nb::make_tuple(port.name, nameOf(port.type.element),
                               shapeOf(port.type)));
  return list;
}

nb::dict python::toPython(const Statistics &s) {
  nb::dict d;
  d["rounds"] = s.rounds;
  d["slot_rounds"] = s.slotRounds;
  d["padded_rounds"] = s.paddedRounds;
  d["padding_slots"] = s.paddingSlots;
  d["round_rows"] = s.roundRows;
  d["round_capacity"] = s.roundCapacity;
  d["round_tokens"] = s.roundTokens;
  d["output_tokens"] = s.outputTokens;
  d["decode_tokens"] = s.decodeTokens;
  d["prefill_tokens"] = s.prefillTokens;
  d["cached_tokens"] = s.cachedTokens;
  d["prefill_chunks"] = s.prefillChunks;
  d["library_tokens"] = s.libraryTokens;
  d["mixed_tokens"] = s.mixedTokens;
  d["caught_up_tokens"] = s.caughtUpTokens;
  d["preemptions"] = s.preemptions;
  d["snapshots"] = s.snapshots;
  d["dropped_snapshots"] = s.droppedSnapshots;
  d["snapshot_bytes"] = s.snapshotBytes;
  d["restored_snapshots"] = s.restoredSnapshots;
  d["restored_preemptions"] = s.restoredPreemptions;
  d["drafted"] = nb::tuple(nb::cast(s.drafted));
  d["accepted"] = nb::tuple(nb::cast(s.accepted));
  d["rounds_by_k"] = nb::tuple(nb::cast(s.roundsByK));
  d["prefill_seconds"] = s.prefillSeconds;
  d["decode_seconds"] = s.decodeSeconds;
  return d;
}

nb::object python::toPython(FinishReason reason) {
  switch (reason) {
  case FinishReason::None:
    return nb::none();
  case FinishReason::Stop:
    return nb::str("stop");
  case FinishReason::Length:
    return nb::str("length");
  case FinishReason::Cancelled:
    return nb::str("cancelled");
  case FinishReason::Failed:
    return nb::str("failed");
  }
  return nb::none();
}

nb::list python::toPython(std::vector<OutputRows> outputs) {
  nb::list list;
  for (OutputRows &output : outputs)
    list.append(nb::make_tuple(output.name, toPython(std::move(output.rows)),
                               output.tokens));
  return list;
}
