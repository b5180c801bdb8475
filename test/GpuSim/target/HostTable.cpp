//===- HostTable.cpp - The tables of an image for gpu-sim -----------------===//

#include "test/GpuSim/target/HostLowering.h"

#include "test/GpuSim/target/SimAbi.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mtp::gpu;
using namespace mtp::gpusim;
using namespace llvm;

namespace {
/// Constants of the table. Every struct of SimAbi.h consists of pointers and
/// 64-bit integers, written field by field.
class TableWriter {
public:
  explicit TableWriter(Module &module)
      : module(module), context(module.getContext()) {}

  Constant *integer(uint64_t value) {
    return ConstantInt::get(Type::getInt64Ty(context), value);
  }
  Constant *text(StringRef value) {
    return variable(ConstantDataArray::getString(context, value));
  }
  Constant *pointerTo(Constant *value) {
    return ConstantExpr::getPointerBitCastOrAddrSpaceCast(
        value, PointerType::get(context, 0));
  }
  Constant *record(ArrayRef<Constant *> fields) {
    return ConstantStruct::getAnon(context, fields);
  }
  /// Returns an array of records as a variable, or null if there are none.
  Constant *array(ArrayRef<Constant *> records) {
    if (records.empty())
      return ConstantPointerNull::get(PointerType::get(context, 0));
    auto *type = ArrayType::get(records[0]->getType(), records.size());
    return variable(ConstantArray::get(type, records));
  }
  GlobalVariable *variable(Constant *value) {
    return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                              GlobalValue::PrivateLinkage, value);
  }

private:
  Module &module;
  LLVMContext &context;
};
} // namespace

/// Returns `.maxntid` of a kernel as a number of threads, or 0.
static uint64_t maxThreads(const Function &kernel) {
  StringRef text = kernel.getFnAttribute("nvvm.maxntid").getValueAsString();
  if (text.empty())
    return 0;
  uint64_t product = 1;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    uint64_t value = 0;
    if (!part.trim().getAsInteger(10, value))
      product *= value;
  }
  return product;
}

/// Makes a function that loads the parameters from the driver's pointers.
static Function *makeWrapper(Function &kernel) {
  Module &module = *kernel.getParent();
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer}, false);
  Function *wrapper = Function::Create(type, GlobalValue::InternalLinkage,
                                       kernel.getName() + ".thread", module);
  IRBuilder<> builder(BasicBlock::Create(context, "", wrapper));
  SmallVector<Value *> arguments;
  for (Argument &argument : kernel.args()) {
    Value *slot = builder.CreateConstGEP1_64(pointer, wrapper->getArg(0),
                                             argument.getArgNo());
    arguments.push_back(builder.CreateLoad(argument.getType(),
                                           builder.CreateLoad(pointer, slot)));
  }
  builder.CreateCall(&kernel, arguments);
  builder.CreateRetVoid();
  return wrapper;
}

static Constant *kernelRecord(TableWriter &table, Function &kernel,
                              const SharedLayout &shared) {
  const DataLayout &layout = kernel.getDataLayout();
  SmallVector<uint32_t> bytes;
  for (Argument &argument : kernel.args())
    bytes.push_back(layout.getTypeAllocSize(argument.getType()));
  uint64_t threads = maxThreads(kernel);
  std::string name = kernel.getName().str();
  kernel.setCallingConv(CallingConv::C);
  kernel.setLinkage(GlobalValue::InternalLinkage);
  return table.record(
      {table.text(name), makeWrapper(kernel), table.integer(shared.staticBytes),
       table.integer(shared.usesDynamic), table.integer(threads),
       table.integer(bytes.size()),
       table.variable(ConstantDataArray::get(kernel.getContext(), bytes))});
}

static Constant *globalRecord(TableWriter &table, GlobalVariable &variable) {
  uint64_t bytes =
      variable.getDataLayout().getTypeAllocSize(variable.getValueType());
  return table.record({table.text(variable.getName()),
                       table.pointerTo(&variable), table.integer(bytes),
                       table.integer(variable.isConstant())});
}

void mtp::gpu::writeUnitTable(
    Module &module, const HostImports &imports,
    const MapVector<Function *, SharedLayout> &kernels) {
  TableWriter table(module);
  SmallVector<GlobalVariable *> variables;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() != 0 && !variable.isDeclaration())
      variables.push_back(&variable);
  SmallVector<Constant *> globalRecords, kernelRecords, importRecords;
  for (GlobalVariable *variable : variables)
    globalRecords.push_back(globalRecord(table, *variable));
  for (const auto &[kernel, shared] : kernels)
    kernelRecords.push_back(kernelRecord(table, *kernel, shared));
  for (const auto &[name, slot] : imports.all())
    importRecords.push_back(table.record({table.text(name), slot}));
  GlobalVariable *unit = table.variable(table.record(
      {table.integer(kernelRecords.size()), table.array(kernelRecords),
       table.integer(globalRecords.size()), table.array(globalRecords),
       table.integer(importRecords.size()), table.array(importRecords)}));
  GlobalVariable *entry = table.variable(unit);
  entry->setName("mtp_sim_unit");
  entry->setSection(kUnitSection);
  appendToCompilerUsed(module, entry);
}

std::unique_ptr<Module> mtp::gpu::makeImageTable(LLVMContext &context) {
  auto module = std::make_unique<Module>("image", context);
  auto bound = [&](StringRef prefix) {
    auto *variable =
        new GlobalVariable(*module, PointerType::get(context, 0),
                           /*isConstant=*/true, GlobalValue::ExternalLinkage,
                           /*Initializer=*/nullptr, prefix + kUnitSection);
    variable->setVisibility(GlobalValue::HiddenVisibility);
    return variable;
  };
  TableWriter table(*module);
  Constant *magic = ConstantDataArray::getString(
      context, StringRef(kImageMagic, sizeof(kImageMagic)),
      /*AddNull=*/false);
  Constant *image = table.record({magic, table.integer(kImageVersion),
                                  bound("__start_"), bound("__stop_")});
  new GlobalVariable(*module, image->getType(), /*isConstant=*/true,
                     GlobalValue::ExternalLinkage, image, kImageSymbol);
  return module;
}
