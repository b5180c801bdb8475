//===- Values.h - Values of the runtime as values of Python -----*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_VALUES_H
#define MTP_TOOLS_PYTHON_SRC_VALUES_H

#include "mtp/model.h"
#include "mtp/session.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::python {

/// A one-dimensional array of bytes, which Python reads as elements.
using ByteArray =
    nanobind::ndarray<nanobind::numpy, uint8_t, nanobind::ndim<1>>;
using ConstBytes = nanobind::ndarray<const uint8_t, nanobind::ndim<1>,
                                     nanobind::c_contig, nanobind::device::cpu>;

/// Returns the name of an element type: "f32", "bool".
std::string_view nameOf(ElementType type);

/// Returns a tensor as (element, shape, bytes), without a copy of the bytes.
nanobind::tuple toPython(Tensor tensor);
/// Returns the tensor of (element, shape, bytes). Throws InvalidArgument if the
/// number of bytes does not fit.
Tensor toTensor(const nanobind::tuple &value);

/// Returns a type as (element, shape).
nanobind::tuple toPython(const TensorType &type);
/// Returns ports as (name, element, shape).
nanobind::list toPython(const std::vector<PortType> &ports);

/// Returns counts and times as a dictionary with the names of
/// mtpc.Statistics.
nanobind::dict toPython(const Statistics &statistics);

/// Returns the name of a reason; None for a sequence that has not finished.
nanobind::object toPython(FinishReason reason);

/// Returns outputs as a list of (name, tensor, tokens).
nanobind::list toPython(std::vector<OutputRows> outputs);

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_VALUES_H
