//===- KernelDigest.cpp - The digest of a kernel's operations -------------===//

#include "compiler/Codegen/Units/KernelDigest.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Region.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

void KernelDigester::add(uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8)
    text.push_back(uint8_t(number >> shift));
}

void KernelDigester::add(StringRef string) {
  add(string.size());
  text.append(string.bytes_begin(), string.bytes_end());
}

/// Returns 16 bytes that stand for `text`.
static std::array<uint8_t, 16> shortDigest(StringRef text) {
  llvm::BLAKE3 hasher;
  hasher.update(text);
  return hasher.final<16>();
}

/// Returns the text of an attribute. The values of a dense attribute are the
/// bytes in memory, because some of MLIR's flags make the printer leave values
/// out.
static std::string textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attribute);
  if (!dense) {
    attribute.print(stream);
    return text;
  }
  dense.getType().print(stream);
  ArrayRef<char> raw = dense.getRawData();
  stream << (dense.isSplat() ? " splat " : " ")
         << StringRef(raw.data(), raw.size());
  return text;
}

void KernelDigester::add(Attribute attribute) {
  auto [entry, isNew] = attributes.try_emplace(attribute);
  if (isNew)
    entry->second = shortDigest(textOf(attribute));
  text.append(entry->second.begin(), entry->second.end());
}

void KernelDigester::add(Type type) {
  auto [entry, isNew] = types.try_emplace(type);
  if (isNew) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    entry->second = shortDigest(name);
  }
  text.append(entry->second.begin(), entry->second.end());
}

/// Adds the number and the type of a value that is defined here.
void KernelDigester::number(Value value) {
  add(values.try_emplace(value, values.size()).first->second);
  add(value.getType());
}

void KernelDigester::addRegion(Region &region) {
  add(region.getBlocks().size());
  for (Block &block : region)
    blocks.try_emplace(&block, blocks.size());
  for (Block &block : region) {
    add(block.getNumArguments());
    for (BlockArgument argument : block.getArguments())
      number(argument);
    for (Operation &op : block)
      addOperation(op);
    // Ends the block: no operation adds this number next.
    add(~uint64_t(0));
  }
}

/// Adds an operation. A value that is used before it is defined gets its number
/// at the use.
void KernelDigester::addOperation(Operation &op) {
  ++count;
  add(op.getName().getStringRef());
  DictionaryAttr dictionary = op.getAttrDictionary();
  add(dictionary.size());
  for (NamedAttribute attribute : dictionary) {
    add(attribute.getName().strref());
    add(attribute.getValue());
  }
  add(op.getNumOperands());
  for (Value operand : op.getOperands())
    add(values.try_emplace(operand, values.size()).first->second);
  add(op.getNumResults());
  for (Value result : op.getResults())
    number(result);
  add(op.getNumSuccessors());
  for (Block *successor : op.getSuccessors())
    add(blocks.try_emplace(successor, blocks.size()).first->second);
  add(op.getNumRegions());
  for (Region &region : op.getRegions())
    addRegion(region);
}

Digest KernelDigester::digest(Operation *root) {
  text.clear();
  values.clear();
  blocks.clear();
  count = 0;
  addOperation(*root);
  llvm::BLAKE3 hasher;
  hasher.update(llvm::ArrayRef<uint8_t>(text));
  return hasher.final<32>();
}
