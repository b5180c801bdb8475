//===- TensorLiteral.cpp - Tensors on the command line --------------------===//

#include "tools/mtp-run/tensors/TensorLiteral.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/tensors/Elements.h"
#include "tools/mtp-run/tensors/Npy.h"

#include <charconv>
#include <cmath>

using namespace mtp;

/// The largest number of elements of a literal's tensor.
static constexpr uint64_t kMaxElements = 1 << 26;

static Result<TensorType> parseType(std::string_view text) {
  TensorType type;
  std::string_view rest = text;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    uint64_t dim = 0;
    auto end = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    size_t used = size_t(end.ptr - rest.data());
    if (end.ec != std::errc() || used == rest.size() || rest[used] != 'x')
      return invalidArgument(
          strCat("expected a type such as 2x4xi32, got '", text, "'"));
    if (type.shape.size() == kMaxRank)
      return outOfRange(strCat("expected at most ", kMaxRank,
                               " dimensions, got '", text, "'"));
    type.shape.push_back(dim);
    rest.remove_prefix(used + 1);
  }
  Result<schema::DType> element = parseDType(rest);
  if (!element)
    return element.status();
  type.element = ElementType(*element);
  uint64_t count = 1;
  for (uint64_t dim : type.shape)
    if (__builtin_mul_overflow(count, dim, &count) || count > kMaxElements)
      return outOfRange(strCat("expected at most ", kMaxElements,
                               " elements, got '", text, "'"));
  return type;
}

namespace {
/// Reads nested brackets and checks them against a shape.
class Reader {
public:
  Reader(std::string_view text, Tensor &tensor) : text(text), tensor(tensor) {}

  Status read();

private:
  Status readDimension(size_t dimension);
  Status readElement();
  void skipBlanks();
  bool take(char c);

  std::string_view text;
  Tensor &tensor;
};
} // namespace

void Reader::skipBlanks() {
  while (!text.empty() && (text[0] == ' ' || text[0] == ',' ||
                           text[0] == '\n' || text[0] == '\t'))
    text.remove_prefix(1);
}

bool Reader::take(char c) {
  skipBlanks();
  if (text.empty() || text[0] != c)
    return false;
  text.remove_prefix(1);
  return true;
}

Status Reader::readElement() {
  skipBlanks();
  size_t length = std::min(text.find_first_of(" ,[]\n\t"), text.size());
  MTP_RETURN_IF_ERROR(appendElement(tensor, text.substr(0, length)));
  text.remove_prefix(length);
  return okStatus();
}

Status Reader::readDimension(size_t dimension) {
  if (dimension == tensor.type.shape.size())
    return readElement();
  if (!take('['))
    return invalidArgument(strCat("expected '[' before '", text, "'"));
  for (uint64_t i = 0; i < tensor.type.shape[dimension]; ++i)
    MTP_RETURN_IF_ERROR(readDimension(dimension + 1));
  if (!take(']'))
    return invalidArgument(strCat("expected ", tensor.type.shape[dimension],
                                  " elements and ']', got '", text, "'"));
  return okStatus();
}

Status Reader::read() {
  skipBlanks();
  if (!text.empty() && text[0] != '[') {
    // One value for all elements.
    MTP_RETURN_IF_ERROR(readElement());
    std::vector<uint8_t> one = tensor.bytes;
    tensor.bytes.clear();
    for (uint64_t i = 0; i < elementCount(tensor.type); ++i)
      tensor.bytes.insert(tensor.bytes.end(), one.begin(), one.end());
  } else {
    MTP_RETURN_IF_ERROR(readDimension(0));
  }
  skipBlanks();
  if (!text.empty())
    return invalidArgument(
        strCat("expected nothing after the value, got '", text, "'"));
  return okStatus();
}

Result<Tensor> mtp::parseTensor(std::string_view text) {
  if (!text.empty() && text[0] == '@')
    return readNpy(std::string(text.substr(1)));
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return invalidArgument(
        strCat("expected a tensor such as 2xi32=[1, 2] or @file.npy, got '",
               text, "'"));
  MTP_ASSIGN_OR_RETURN(TensorType type, parseType(text.substr(0, equals)));
  Tensor tensor{std::move(type), {}};
  MTP_RETURN_IF_ERROR(Reader(text.substr(equals + 1), tensor).read());
  return tensor;
}

/// Appends the elements in brackets; `element` formats one.
template <typename ElementFn>
static void appendDimension(std::string &out, const Tensor &tensor,
                            size_t dimension, uint64_t &index,
                            ElementFn element) {
  if (dimension == tensor.type.shape.size()) {
    out += element(index++);
    return;
  }
  out += '[';
  for (uint64_t i = 0; i < tensor.type.shape[dimension]; ++i) {
    out += i ? ", " : "";
    appendDimension(out, tensor, dimension + 1, index, element);
  }
  out += ']';
}

std::string mtp::tensorText(const Tensor &tensor) {
  std::string out = toString(tensor.type) + "=";
  uint64_t index = 0;
  appendDimension(out, tensor, 0, index,
                  [&](uint64_t i) { return elementText(tensor, i); });
  return out;
}

std::string mtp::tensorJson(const Tensor &tensor) {
  std::string out;
  uint64_t index = 0;
  appendDimension(out, tensor, 0, index, [&](uint64_t i) {
    return std::isfinite(elementAt(tensor, i)) ? elementText(tensor, i)
                                               : std::string("null");
  });
  return out;
}
