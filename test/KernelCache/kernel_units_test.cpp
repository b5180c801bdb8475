//===- kernel_units_test.cpp - Digests, entries and sharing of kernels ----===//

#include "compiler/Codegen/Units/KernelDigest.h"
#include "compiler/Codegen/Units/KernelUnits.h"
#include "compiler/Codegen/Units/ToolchainIdentity.h"
#include "compiler/Codegen/Units/UnitEntry.h"
#include "compiler/KernelCache/KernelCache.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <gtest/gtest.h>
#include <set>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

namespace {

class KernelUnits : public testing::Test {
protected:
  KernelUnits() {
    context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                        func::FuncDialect>();
  }

  Digest digest(const std::string &body) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(body, &context);
    EXPECT_TRUE(module);
    return KernelDigester().digest(module->getOperation());
  }

  MLIRContext context;
};

/// Makes objects that contain the printed unit and the symbol.
class PrintingBackend : public KernelBackend {
public:
  explicit PrintingBackend(std::string code = "one", bool shares = true)
      : code(std::move(code)), shares(shares) {}

  class Compiler : public KernelCompiler {
  public:
    explicit Compiler(const PrintingBackend &backend) : backend(backend) {}
    FailureOr<KernelObject> compile(ModuleOp unit, StringRef symbol,
                                    compiler::KernelSeconds &) override {
      std::string text;
      llvm::raw_string_ostream(text) << symbol << "\n" << unit;
      ++backend.compiled;
      KernelObject object;
      object.parts.emplace_back(text.begin(), text.end());
      return object;
    }

  private:
    const PrintingBackend &backend;
  };

  std::string identity() const override { return "printing " + code; }
  bool sharesSymbols() const override { return shares; }
  std::unique_ptr<KernelCompiler> makeCompiler(MLIRContext &) const override {
    return std::make_unique<Compiler>(*this);
  }

  mutable std::atomic<int> compiled{0};

private:
  std::string code;
  bool shares;
};

/// Returns a kernel that adds `number` to its argument.
UnitRequest adder(const std::string &name, int64_t number) {
  return {name, "add", [number](OpBuilder &builder, ModuleOp unit) {
            Location loc = unit.getLoc();
            builder.setInsertionPointToEnd(unit.getBody());
            Type i64 = builder.getI64Type();
            auto function =
                func::FuncOp::create(builder, loc, kUnitSymbol,
                                     builder.getFunctionType({i64}, {i64}));
            builder.setInsertionPointToEnd(function.addEntryBlock());
            Value constant =
                arith::ConstantIntOp::create(builder, loc, number, 64);
            Value sum = arith::AddIOp::create(
                builder, loc, function.getArgument(0), constant);
            func::ReturnOp::create(builder, loc, sum);
            return success();
          }};
}

std::vector<UnitRequest> adders(std::initializer_list<int64_t> numbers) {
  std::vector<UnitRequest> requests;
  for (int64_t number : numbers)
    requests.push_back(adder("add_" + std::to_string(requests.size()), number));
  return requests;
}

std::vector<std::string> textsOf(const std::vector<CompiledUnit> &units) {
  std::vector<std::string> texts;
  for (const CompiledUnit &unit : units)
    texts.emplace_back(unit.object->parts[0].begin(),
                       unit.object->parts[0].end());
  return texts;
}

} // namespace

TEST_F(KernelUnits, DigestIgnoresNamesAndLocations) {
  Digest expected = digest("func.func @f(%a: i32) -> i32 {\n"
                           "  %b = arith.addi %a, %a : i32\n"
                           "  return %b : i32\n}");
  EXPECT_EQ(digest("\n\nfunc.func @f(%x: i32) -> i32 {\n"
                   "  %sum = arith.addi %x, %x : i32 loc(\"here\")\n"
                   "  return %sum : i32\n}"),
            expected);
}

TEST_F(KernelUnits, DigestTellsProgramsApart) {
  std::set<Digest> digests;
  const std::string blocks = " ^bb1: return %a : i32 ^bb2: return %b : i32";
  const std::string bodies[] = {
      "%c = arith.addi %a, %b : i32 return %c : i32",
      "%c = arith.addi %b, %a : i32 return %c : i32",
      "%c = arith.addi %a, %a : i32 return %c : i32",
      "%c = arith.addi %a, %b overflow<nsw> : i32 return %c : i32",
      "%c = arith.subi %a, %b : i32 return %c : i32",
      "%c = arith.addi %a, %b : i32 return %a : i32",
      "%c = arith.addi %a, %b {note} : i32 return %c : i32",
      "%c = arith.constant 1 : i32 return %c : i32",
      "%c = arith.constant 2 : i32 return %c : i32",
      "cf.br ^bb1 ^bb1: return %a : i32",
      "cf.br ^bb1 ^bb1: cf.br ^bb2 ^bb2: return %a : i32",
      "%t = arith.constant true cf.cond_br %t, ^bb1, ^bb2" + blocks,
      "%t = arith.constant true cf.cond_br %t, ^bb2, ^bb1" + blocks,
      "%v = arith.constant dense<[1, 2]> : vector<2xi32> return %a : i32",
      "%v = arith.constant dense<[1, 3]> : vector<2xi32> return %a : i32",
      "%v = arith.constant dense<1> : vector<2xi32> return %a : i32"};
  for (const std::string &body : bodies)
    digests.insert(
        digest("func.func @f(%a: i32, %b: i32) -> i32 { " + body + " }"));
  EXPECT_EQ(digests.size(), std::size(bodies));
}

TEST_F(KernelUnits, DigestIsTheSameInEveryContext) {
  const char *text = "func.func @f(%a: i32) -> i32 { return %a : i32 }";
  MLIRContext other;
  other.loadDialect<func::FuncDialect, arith::ArithDialect>();
  // Earlier attributes change the addresses of later ones.
  (void)parseSourceString<ModuleOp>(
      "func.func @g(%a: i64) -> i64 { return %a : i64 }", &other);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &other);
  EXPECT_EQ(KernelDigester().digest(module->getOperation()), digest(text));
}

TEST_F(KernelUnits, EntriesComeBack) {
  KernelObject object;
  object.parts = {{'a', 'b'}, {}, {'c'}};
  std::vector<char> entry = writeUnitEntry(object);
  std::optional<KernelObject> read = readUnitEntry(entry);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->parts, object.parts);
  for (size_t size = 0; size < entry.size(); ++size)
    EXPECT_FALSE(readUnitEntry(std::span(entry).first(size))) << size;
  entry.push_back('x');
  EXPECT_FALSE(readUnitEntry(entry));
  std::vector<char> huge(16, char(0xff));
  EXPECT_FALSE(readUnitEntry(huge));
}

TEST_F(KernelUnits, AreTheSameForAnyNumberOfThreads) {
  std::vector<UnitRequest> requests = adders({5, 1, 4, 1, 3, 9, 2, 6, 5, 8});
  std::vector<std::string> expected;
  for (unsigned jobs : {1u, 2u, 4u, 16u}) {
    PrintingBackend backend;
    compiler::CodegenOptions options;
    options.jobs = jobs;
    std::vector<std::string> order;
    options.onKernel = [&](const compiler::KernelTiming &kernel) {
      order.push_back(kernel.name);
    };
    auto units = compileUnits(context, UnknownLoc::get(&context), requests,
                              backend, options);
    ASSERT_TRUE(succeeded(units));
    if (expected.empty())
      expected = textsOf(*units);
    EXPECT_EQ(textsOf(*units), expected) << jobs;
    EXPECT_EQ(backend.compiled, 8) << "equal kernels are compiled once";
    EXPECT_EQ((*units)[1].object, (*units)[3].object);
    EXPECT_EQ((*units)[0].symbol, (*units)[8].symbol);
    EXPECT_EQ(distinctObjects(*units).size(), 8u);
    EXPECT_EQ(order.front(), "add_0");
    EXPECT_EQ(order.back(), "add_9");
  }
}

TEST_F(KernelUnits, HaveSymbolsOfTheirOwnIfTheBackendWantsThem) {
  std::vector<UnitRequest> requests = adders({1, 1, 1});
  PrintingBackend backend("one", /*shares=*/false);
  auto units = compileUnits(context, UnknownLoc::get(&context), requests,
                            backend, compiler::CodegenOptions());
  ASSERT_TRUE(succeeded(units));
  std::set<std::string> symbols;
  for (const CompiledUnit &unit : *units)
    symbols.insert(unit.symbol);
  EXPECT_EQ(symbols.size(), 3u);
  EXPECT_EQ(distinctObjects(*units).size(), 3u);
}

TEST_F(KernelUnits, ComeFromTheCacheOfTheSameCodeOnly) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mtp-units", folder));
  auto remove = llvm::scope_exit(
      [&] { EXPECT_FALSE(llvm::sys::fs::remove_directories(folder)); });
  auto cache = compiler::KernelCache::open(folder.str().str());
  ASSERT_TRUE(cache.isOk());
  std::vector<UnitRequest> requests = adders({1, 2, 3});
  compiler::CodegenOptions options;
  options.cache = cache->get();
  size_t cached = 0;
  options.onKernel = [&](const compiler::KernelTiming &kernel) {
    cached += kernel.isCached;
  };
  auto compile = [&](const PrintingBackend &backend) {
    auto units = compileUnits(context, UnknownLoc::get(&context), requests,
                              backend, options);
    EXPECT_TRUE(succeeded(units));
    return textsOf(*units);
  };
  PrintingBackend first, again, changed("another bug");
  std::vector<std::string> expected = compile(first);
  EXPECT_EQ(first.compiled, 3);
  EXPECT_EQ(compile(again), expected);
  EXPECT_EQ(again.compiled, 0);
  EXPECT_EQ(cached, 3u);
  compile(changed);
  EXPECT_EQ(changed.compiled, 3);
  requests.push_back(adder("add_3", 4));
  compile(again);
  EXPECT_EQ(again.compiled, 1);
}

TEST_F(KernelUnits, ReportEveryKernelThatCannotBeEmitted) {
  std::vector<UnitRequest> requests = adders({1, 2, 3, 4});
  for (size_t i : {1u, 3u})
    requests[i].emit = [i](OpBuilder &, ModuleOp unit) {
      return unit.emitError("no code for kernel ") << i;
    };
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages.push_back(diagnostic.str());
    return success();
  });
  compiler::CodegenOptions options;
  options.jobs = 4;
  PrintingBackend backend;
  EXPECT_TRUE(failed(compileUnits(context, UnknownLoc::get(&context), requests,
                                  backend, options)));
  EXPECT_EQ(messages, (std::vector<std::string>{"no code for kernel 1",
                                                "no code for kernel 3"}));
  EXPECT_EQ(backend.compiled, 0);
}

TEST(ToolchainIdentity, NamesTheBuildOfLlvm) {
  const std::string &identity = toolchainIdentity();
  EXPECT_EQ(identity.rfind("LLVM 22.", 0), 0u) << identity;
  // A build id has 16 bytes or more.
  EXPECT_GT(identity.size(), strlen("LLVM 22.1.8 ") + 32) << identity;
}
