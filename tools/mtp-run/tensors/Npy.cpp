//===- Npy.cpp - NumPy files of one tensor --------------------------------===//

#include "tools/mtp-run/tensors/Npy.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/tensors/Elements.h"

#include <charconv>
#include <cstring>

using namespace mtp;

namespace {
struct NpyType {
  std::string_view name;
  ElementType type;
};
constexpr NpyType kTypes[] = {
    {"<f4", ElementType::F32}, {"<f2", ElementType::F16},
    {"<f8", ElementType::F64}, {"|i1", ElementType::I8},
    {"|u1", ElementType::U8},  {"<i2", ElementType::I16},
    {"<i4", ElementType::I32}, {"<i8", ElementType::I64},
    {"|b1", ElementType::Bool}};
} // namespace

/// Returns the text after "'key': " in the header's dictionary.
static std::string_view entry(std::string_view header, std::string_view key) {
  size_t at = header.find(strCat("'", key, "':"));
  if (at == std::string_view::npos)
    return {};
  header.remove_prefix(at + key.size() + 3);
  while (!header.empty() && header[0] == ' ')
    header.remove_prefix(1);
  return header;
}

static Result<ElementType> parseDescr(std::string_view text) {
  for (const NpyType &type : kTypes)
    if (text.substr(0, 5) == strCat("'", type.name, "'"))
      return type.type;
  return invalidArgument(strCat("expected an element type such as '<f4', got ",
                                text.substr(0, 8)));
}

static Result<std::vector<uint64_t>> parseShape(std::string_view text) {
  std::vector<uint64_t> shape;
  if (text.empty() || text[0] != '(')
    return invalidArgument("expected a shape in its header");
  text.remove_prefix(1);
  while (!text.empty() && text[0] != ')') {
    if (text[0] == ',' || text[0] == ' ') {
      text.remove_prefix(1);
      continue;
    }
    uint64_t dim = 0;
    auto end = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (end.ec != std::errc() || shape.size() == 8)
      return invalidArgument("expected a shape of up to 8 numbers");
    shape.push_back(dim);
    text.remove_prefix(size_t(end.ptr - text.data()));
  }
  return shape;
}

static Result<Tensor> parseNpy(std::string_view file) {
  if (file.size() < 12 || file.substr(0, 6) != "\x93NUMPY")
    return invalidArgument("expected a .npy file");
  bool wide = file[6] >= 2;
  uint32_t size = 0;
  std::memcpy(&size, file.data() + 8, wide ? 4 : 2);
  size_t start = wide ? 12 : 10;
  if (size > file.size() - start)
    return dataLoss("its header is longer than the file");
  std::string_view header = file.substr(start, size);
  if (entry(header, "fortran_order").substr(0, 5) != "False")
    return invalidArgument("expected C order");
  Tensor tensor;
  MTP_ASSIGN_OR_RETURN(tensor.type.element, parseDescr(entry(header, "descr")));
  MTP_ASSIGN_OR_RETURN(tensor.type.shape, parseShape(entry(header, "shape")));
  uint64_t bytes = elementBytes(tensor.type.element);
  for (uint64_t dim : tensor.type.shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return dataLoss("its shape is too large");
  std::string_view data = file.substr(start + size);
  if (data.size() != bytes)
    return dataLoss(strCat("expected ", bytes, " bytes of ",
                           toString(tensor.type), ", got ", data.size()));
  tensor.bytes.assign(data.begin(), data.end());
  return tensor;
}

Result<Tensor> mtp::readNpy(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.status().withContext(path);
  Result<Tensor> tensor = parseNpy(
      {reinterpret_cast<const char *>((*file)->data()), (*file)->size()});
  if (!tensor)
    return tensor.status().withContext(path);
  return tensor;
}

/// Converts bf16, which NumPy lacks, to f32, which holds all of its values.
static Tensor widened(const Tensor &tensor) {
  Tensor wide{{ElementType::F32, tensor.type.shape}, {}};
  for (uint64_t i = 0; i < elementCount(tensor.type); ++i) {
    float value = float(elementAt(tensor, i));
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&value);
    wide.bytes.insert(wide.bytes.end(), bytes, bytes + sizeof(value));
  }
  return wide;
}

std::string mtp::npyText(const Tensor &tensor) {
  if (tensor.type.element == ElementType::BF16)
    return npyText(widened(tensor));
  std::string_view descr;
  for (const NpyType &type : kTypes)
    if (type.type == tensor.type.element)
      descr = type.name;
  std::string shape;
  for (uint64_t dim : tensor.type.shape)
    shape += strCat(dim, ", ");
  std::string header =
      strCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
             shape, "), }");
  // Data starts at a multiple of 64; a newline ends the header.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += char(header.size() & 255);
  text += char(header.size() >> 8);
  text += header;
  text.append(tensor.bytes.begin(), tensor.bytes.end());
  return text;
}
