//===- ControlMath_test.cpp - Arithmetic in bodies ------------------------===//
//
// The test covers every operation of arith and math, on every type, that the
// verifier accepts in a body of mtp.per_slot. Each becomes code on every
// target: the simulated GPU computes the CPU's bits, and PTX for sm_90 has no
// calls.
//
//===----------------------------------------------------------------------===//

#include "harness/ControlBodies.h"
#include "harness/Harness.h"

#ifdef MTP_HAS_GPUSIM
#include "harness/GpuHarness.h"
#endif
#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

using Names = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// Operations in a body
//===----------------------------------------------------------------------===//

namespace {
/// An operation on values of some types.
struct Form {
  std::string op;
  Names operands, results;
  std::string properties;

  /// Returns the operation's line, with `number` in the names of its results.
  std::string line(size_t number) const;
};
} // namespace

static const Names kTypes{"i1", "i32", "i64", "index", "f32"};

static std::string join(const Names &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string Form::line(size_t number) const {
  Names names;
  for (size_t i = 0; i < operands.size(); ++i)
    names.push_back("%" + operands[i] + "_" + std::to_string(i));
  return "%r" + std::to_string(number) + ":" + std::to_string(results.size()) +
         " = \"" + op + "\"(" + join(names) + ")" + properties + " : (" +
         join(operands) + ") -> (" + join(results) + ")\n";
}

/// Returns lines that define three values of each used type, %i32_0 and so on,
/// from the slot's inputs.
static std::string operandLines(const std::set<std::string> &used) {
  std::string lines;
  for (int i = 0; i < 3; ++i) {
    std::string n = "_" + std::to_string(i), at = "%at" + n;
    auto extract = [&](const std::string &type, int input) {
      lines += "%" + type + n + " = tensor.extract %in" +
               std::to_string(input) + "[" + at + "] : tensor<3x" + type +
               ">\n";
    };
    lines += at + " = arith.constant " + std::to_string(i) + " : index\n";
    if (used.contains("i32") || used.contains("i1"))
      extract("i32", 0);
    if (used.contains("i64") || used.contains("index"))
      extract("i64", 1);
    if (used.contains("f32"))
      extract("f32", 2);
    if (used.contains("i1"))
      lines += "%i1" + n + " = arith.trunci %i32" + n + " : i32 to i1\n";
    if (used.contains("index"))
      lines +=
          "%index" + n + " = arith.index_cast %i64" + n + " : i64 to index\n";
  }
  return lines;
}

/// Returns lines that compute the bits of `value` as an i64. Every NaN has the
/// same bits.
static std::string bitsLines(const std::string &value, const std::string &type,
                             const std::string &bits) {
  if (type == "i64")
    return bits + " = arith.addi " + value + ", %none : i64\n";
  if (type == "index")
    return bits + " = arith.index_cast " + value + " : index to i64\n";
  if (type != "f32")
    return bits + " = arith.extui " + value + " : " + type + " to i64\n";
  return bits + "n = arith.cmpf uno, " + value + ", " + value + " : f32\n" +
         bits + "f = arith.select " + bits + "n, %nan, " + value + " : f32\n" +
         bits + "i = arith.bitcast " + bits + "f : f32 to i32\n" + bits +
         " = arith.extui " + bits + "i : i32 to i64\n";
}

/// Returns a module whose body has these operations and, if `yields`, returns
/// their results.
static ControlModule moduleOf(const std::vector<Form> &forms, bool yields) {
  std::set<std::string> used;
  for (const Form &form : forms)
    used.insert(form.operands.begin(), form.operands.end());
  std::string body = operandLines(used) +
                     "%none = arith.constant 0 : i64\n"
                     "%nan = arith.constant 0x7fc00000 : f32\n";
  Names bits;
  for (size_t i = 0; i < forms.size(); ++i) {
    body += forms[i].line(i);
    for (size_t j = 0; j < forms[i].results.size(); ++j) {
      std::string name = std::to_string(i) + "#" + std::to_string(j);
      bits.push_back("%b" + std::to_string(bits.size()));
      body += bitsLines("%r" + name, forms[i].results[j], bits.back());
    }
  }
  std::string type = "tensor<" + std::to_string(bits.size()) + "xi64>";
  body += yields ? "%all = tensor.from_elements " + join(bits) + " : " + type +
                       "\nmtp.yield %all : " + type + "\n"
                 : "mtp.yield\n";
  return {"",
          {"tensor<3xi32>", "tensor<3xi64>", "tensor<3xf32>"},
          yields ? Names{type} : Names{},
          body,
          {},
          kControlSlots};
}

namespace {
/// Asks the verifier whether operations may be in a body.
class Verifier {
public:
  Verifier() : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registry.insert<mlir::exec::ExecDialect, mlir::mtp::MTPDialect>();
    mlir::mtp::registerControlDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Returns the operations of a dialect, without constants.
  Names operations(llvm::StringRef dialect) {
    Names names;
    for (auto name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == dialect &&
          name.getStringRef() != "arith.constant")
        names.push_back(name.getStringRef().str());
    return names;
  }

  bool admits(const Form &form) {
    mlir::ScopedDiagnosticHandler quiet(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    std::string text = moduleOf({form}, /*yields=*/false).text();
    return bool(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
  }

private:
  mlir::MLIRContext context;
};
} // namespace

/// Returns the predicates of comparisons.
static Names propertiesOf(const std::string &op) {
  int predicates = op == "arith.cmpi" ? 10 : op == "arith.cmpf" ? 16 : 0;
  if (predicates == 0)
    return {""};
  Names properties;
  for (int i = 0; i < predicates; ++i)
    properties.push_back(" <{predicate = " + std::to_string(i) + " : i64}>");
  return properties;
}

/// Returns the forms of `op` that a body may hold.
static std::vector<Form> formsOf(const std::string &op, Verifier &verifier) {
  std::vector<Form> forms;
  std::set<std::string> known;
  auto add = [&](const Names &operands, const Names &results) {
    for (const std::string &properties : propertiesOf(op)) {
      Form form{op, operands, results, properties};
      if (known.insert(form.line(0)).second && verifier.admits(form))
        forms.push_back(form);
    }
  };
  for (const std::string &type : kTypes)
    for (const Names &operands :
         {Names{type}, Names{type, type}, Names{type, type, type},
          Names{"i1", type, type}}) {
      for (const std::string &result : kTypes)
        add(operands, {result});
      add(operands, {type, type});
      add(operands, {type, "i1"});
    }
  return forms;
}

TEST(ControlMath, AllIsAdmittedThatNeedsNoLibrary) {
  Verifier verifier;
  Names refused, admitted;
  for (const std::string &op : verifier.operations("arith"))
    if (formsOf(op, verifier).empty())
      refused.push_back(op);
  for (const std::string &op : verifier.operations("math"))
    if (!formsOf(op, verifier).empty())
      admitted.push_back(op);
  llvm::sort(refused);
  llvm::sort(admitted);
  // These take types of floats that bodies do not have, or are fmod.
  EXPECT_EQ(refused, (Names{"arith.extf", "arith.remf", "arith.scaling_extf",
                            "arith.scaling_truncf", "arith.truncf"}));
  EXPECT_EQ(admitted,
            (Names{"math.absf", "math.absi", "math.ceil", "math.copysign",
                   "math.cos", "math.ctlz", "math.ctpop", "math.cttz",
                   "math.exp", "math.floor", "math.fma", "math.log",
                   "math.log2", "math.round", "math.roundeven", "math.sin",
                   "math.sqrt", "math.tanh", "math.trunc"}));
}

//===----------------------------------------------------------------------===//
// Their code
//===----------------------------------------------------------------------===//

namespace {
/// Inputs of the slots.
struct Operands {
  explicit Operands(uint32_t seed);

  Guarded<int32_t> slots, ints;
  Guarded<int64_t> longs;
  Guarded<float> floats;
};
} // namespace

Operands::Operands(uint32_t seed)
    : slots(std::vector<int32_t>{0, 1, 2, 3}), ints(3 * kControlSlots),
      longs(3 * kControlSlots), floats(3 * kControlSlots) {
  constexpr int64_t words[] = {0,         1,         -1,        2,
                               INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
  constexpr float numbers[] = {0.5f,  -1.5f,     2.5f,     -2.5f,
                               1e30f, -INFINITY, INFINITY, NAN};
  std::mt19937 random(seed);
  for (int i = 0; i < 3 * kControlSlots; ++i) {
    uint64_t any = uint64_t(random()) << 32 | random();
    longs[i] = any % 3 ? words[any / 3 % 8] : int64_t(any);
    ints[i] = int32_t(longs[i]);
    floats[i] =
        any % 5 ? numbers[any / 5 % 8] : float(int32_t(any >> 20)) / 1024.0f;
  }
}

static std::vector<int64_t> run(const Kernel &kernel, size_t results,
                                uint32_t seed) {
  Operands operands(seed);
  Guarded<int64_t> bits(results * kControlSlots);
  kernel.run({operands.slots.data(), operands.ints.data(),
              operands.longs.data(), operands.floats.data(), bits.data()},
             {kControlSlots});
  return bits.values();
}

/// Returns all forms, in parts that compile in moderate time.
static std::vector<std::vector<Form>> allForms() {
  Verifier verifier;
  std::vector<std::vector<Form>> parts(1);
  for (const char *dialect : {"arith", "math"})
    for (const std::string &op : verifier.operations(dialect))
      for (const Form &form : formsOf(op, verifier)) {
        if (parts.back().size() == 64)
          parts.emplace_back();
        parts.back().push_back(form);
      }
  return parts;
}

/// Compares the results of kernels on two targets for equal operands.
static void expectSame(const std::vector<Form> &forms, const Kernel &one,
                       const Kernel &other) {
  std::vector<std::string> names;
  for (size_t i = 0; i < forms.size(); ++i)
    names.insert(names.end(), forms[i].results.size(), forms[i].line(i));
  for (uint32_t seed = 0; seed < 24; ++seed) {
    std::vector<int64_t> want = run(one, names.size(), seed);
    std::vector<int64_t> got = run(other, names.size(), seed);
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(got[i], want[i]) << names[i % names.size()] << "slot "
                                 << i / names.size() << ", seed " << seed;
  }
}

TEST(ControlMath, IsCodeOnEveryTarget) {
  auto targets = allTargets();
  for (const std::vector<Form> &forms : allForms()) {
    std::string module = moduleOf(forms, /*yields=*/true).text();
    Kernel first(targets.front().second, module);
    for (size_t i = 1; i < targets.size(); ++i) {
      SCOPED_TRACE(targets[i].first);
      Kernel kernel(targets[i].second, module);
      if (HasFailure())
        return;
      expectSame(forms, first, kernel);
#ifdef MTP_HAS_GPUSIM
      if (!targets[i].second.isGpu)
        continue;
      std::string ptx = assembleKernel(kernel.spec()).ptx;
      EXPECT_NE(ptx.find(".visible .entry"), std::string::npos);
      EXPECT_EQ(ptx.find(".func"), std::string::npos) << ptx;
#endif
    }
  }
}

/// Returns the results of the operations of the test below, in order.
static std::vector<int64_t> countsOf(int32_t word, int64_t wide, float number) {
  std::vector<int64_t> bits;
  auto count = [&]<typename T>(T x) {
    bits.insert(bits.end(),
                {std::countr_zero(x), std::countl_zero(x), std::popcount(x),
                 int64_t(std::make_signed_t<T>(x) < 0 ? T(0) - x : x)});
  };
  count(uint32_t(word));
  count(uint64_t(wide));
  count(uint64_t(wide));
  for (float x : {std::round(number), std::nearbyint(number)})
    bits.push_back(std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x));
  return bits;
}

TEST(ControlMath, CountsBitsAndRounds) {
  std::vector<Form> forms;
  for (const char *type : {"i32", "i64", "index"})
    for (const char *op : {"math.cttz", "math.ctlz", "math.ctpop", "math.absi"})
      forms.push_back({op, {type}, {type}, ""});
  for (const char *op : {"math.round", "math.roundeven"})
    forms.push_back({op, {"f32"}, {"f32"}, ""});
  std::string module = moduleOf(forms, /*yields=*/true).text();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, module);
    if (HasFailure())
      return;
    for (uint32_t seed = 0; seed < 24; ++seed) {
      Operands operands(seed);
      std::vector<int64_t> want;
      for (int at = 0; at < 3 * kControlSlots; at += 3)
        llvm::append_range(want, countsOf(operands.ints[at], operands.longs[at],
                                          operands.floats[at]));
      EXPECT_EQ(run(kernel, forms.size(), seed), want) << "seed " << seed;
    }
  }
}
