//===- KernelControl.cpp - Loops and conditions of kernels ----------------===//

#include "compiler/Codegen/KernelBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

Values
KernelBuilder::forRange(Value begin, Value end, int64_t step, ValueRange inits,
                        llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, integer(step), inits,
                         [&](OpBuilder &, Location, Value iv, ValueRange args) {
                           scf::YieldOp::create(builder, loc, body(iv, args));
                         });
  return Values(loop.getResults().begin(), loop.getResults().end());
}

void KernelBuilder::forRange(Value begin, Value end, int64_t step,
                             llvm::function_ref<void(Value)> body) {
  forRange(begin, end, step, ValueRange(), [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

Values KernelBuilder::whileLoop(ValueRange inits,
                                llvm::function_ref<Value(ValueRange)> condition,
                                llvm::function_ref<Values(ValueRange)> body) {
  auto loop = scf::WhileOp::create(
      builder, loc, inits.getTypes(), inits,
      [&](OpBuilder &, Location, ValueRange args) {
        scf::ConditionOp::create(builder, loc, condition(args), args);
      },
      [&](OpBuilder &, Location, ValueRange args) {
        scf::YieldOp::create(builder, loc, body(args));
      });
  return Values(loop.getResults().begin(), loop.getResults().end());
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &, Location) {
    body();
    scf::YieldOp::create(builder, loc);
  });
}

void KernelBuilder::ifElse(Value condition, llvm::function_ref<void()> thenBody,
                           llvm::function_ref<void()> elseBody) {
  auto branch = [&](llvm::function_ref<void()> body) {
    body();
    scf::YieldOp::create(builder, loc);
  };
  scf::IfOp::create(
      builder, loc, condition, [&](OpBuilder &, Location) { branch(thenBody); },
      [&](OpBuilder &, Location) { branch(elseBody); });
}

Values KernelBuilder::choose(Value condition,
                             llvm::function_ref<Values()> thenBody,
                             llvm::function_ref<Values()> elseBody) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, thenBody());
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, elseBody());
      });
  return Values(branch.getResults().begin(), branch.getResults().end());
}

Values KernelBuilder::forChunks(
    int64_t width, ValueRange inits,
    llvm::function_ref<Values(Value, Value, ValueRange)> body) {
  int64_t full = width / lanes() * lanes();
  Values state(inits.begin(), inits.end());
  if (full > 0)
    state = forRange(integer(0), integer(full), lanes(), state,
                     [&](Value first, ValueRange args) {
                       return body(first, Value(), args);
                     });
  if (full < width)
    state = body(integer(full), firstLanes(width - full), state);
  return state;
}

void KernelBuilder::mapChunks(
    int64_t width, llvm::function_ref<Values(Value, Value)> load,
    llvm::function_ref<void(Value, Value, ValueRange)> store) {
  int64_t atOnce = chunksAtOnce(), full = width / lanes();
  auto map = [&](Value first, int64_t chunks, bool isRagged) {
    llvm::SmallVector<std::pair<Value, Value>> places;
    llvm::SmallVector<Values> loaded;
    for (int64_t i = 0; i < chunks + isRagged; ++i) {
      Value mask = i < chunks ? Value() : firstLanes(width % lanes());
      places.push_back({i ? add(first, i * lanes()) : first, mask});
      loaded.push_back(load(places.back().first, mask));
    }
    for (auto [place, values] : llvm::zip(places, loaded))
      store(place.first, place.second, values);
  };
  int64_t inLoop = full > atOnce || atOnce == 1 ? full / atOnce * atOnce : 0;
  if (inLoop > 0)
    forRange(integer(0), integer(inLoop * lanes()), atOnce * lanes(),
             [&](Value first) { map(first, atOnce, /*isRagged=*/false); });
  if (inLoop * lanes() < width)
    map(integer(inLoop * lanes()), full - inLoop, width % lanes() != 0);
}

void KernelBuilder::forItems(int64_t count,
                             llvm::function_ref<void(Value)> body) {
  forRange(integer(0), integer(count), 1, body);
}

void KernelBuilder::forChunks(int64_t width,
                              llvm::function_ref<void(Value, Value)> body) {
  forChunks(width, ValueRange(), [&](Value first, Value mask, ValueRange) {
    body(first, mask);
    return Values();
  });
}
