//===- ControlBodies.cpp - Modules of one mtp.per_slot --------------------===//

#include "ControlBodies.h"

using namespace mtp::codegen::test;

/// Returns "tensor<3xi32>" with `rows` as its first extent, or a tensor of
/// "i32".
static std::string rowsOf(const std::string &type, int64_t rows) {
  std::string prefix = "tensor<" + std::to_string(rows) + "x";
  return type.starts_with("tensor<") ? prefix + type.substr(7)
                                     : prefix + type + ">";
}

static std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

std::string ControlModule::text() const {
  std::string slots = "tensor<" + std::to_string(batch) + "xi32>";
  std::string inputOps, head, results, outputOps;
  std::vector<std::string> operands, operandTypes{slots}, resultTypes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i), type = rowsOf(inputs[i], batch);
    inputOps += "  %x" + n + " = exec.input \"x" + n + "\" : " + type + "\n";
    operands.push_back("%x" + n);
    operandTypes.push_back(type);
    head += ", %in" + n + ": " + inputs[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string n = std::to_string(i), type = rowsOf(outputs[i], batch);
    resultTypes.push_back(type);
    outputOps += "  exec.output \"y" + n + "\" %r#" + n + " : " + type + "\n";
  }
  if (!outputs.empty())
    results = "%r:" + std::to_string(outputs.size()) + " = ";
  std::string module =
      "module attributes {mtp.envelope = #mtp.envelope<max_k = " +
      std::to_string(maxK) +
      ", max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {\n" +
      states + "exec.program @p function {\n" +
      "  %slots = exec.input \"slots\" : " + slots + "\n" + inputOps + "  " +
      results + "mtp.per_slot %slots" +
      (inputs.empty() ? "" : "(" + join(operands) + ")") + " {\n" +
      "  ^bb0(%index: index, %slot: i32" + head + "):\n" + body + "  } : (" +
      join(operandTypes) + ") -> (" + join(resultTypes) + ")\n" + outputOps +
      "}\n}\n";
  for (const auto &[name, number] : numbers)
    replaceAll(module, "$" + name, std::to_string(number));
  return module;
}

static constexpr const char *kConstants = R"(
    %zero = arith.constant 0 : i32
    %minus = arith.constant -1 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
)";

static constexpr const char *kAnything = R"(
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %x = tensor.extract %in0[%c0] : tensor<4xi32>
    %y = tensor.extract %in0[%c1] : tensor<4xi32>
    %z = tensor.extract %in0[%c2] : tensor<4xi32>
    %w = tensor.extract %in0[%c3] : tensor<4xi32>
    %xi = arith.index_cast %x : i32 to index
    %yi = arith.index_cast %y : i32 to index
    // Indices from memory.
    %g = mtp.load @grid[%xi, %yi] : i32
    %s = mtp.load @shared[%xi] : i32
    %l = mtp.load @long[] : i64
    %li = arith.index_cast %l : i64 to index
    %e = tensor.extract %in0[%li] : tensor<4xi32>
    // What traps or has no result upstream.
    %div = arith.divsi %x, %y : i32
    %rem = arith.remui %x, %z : i32
    %up = arith.ceildivsi %x, %w : i32
    %shift = arith.shli %x, %y overflow<nsw> : i32
    %right = arith.shrsi %z, %w : i32
    %product = arith.muli %l, %l overflow<nsw, nuw> : i64
    // Floats.
    %f = mtp.load @float[] : f32
    %int = arith.fptosi %f : f32 to i32
    %uint = arith.fptoui %f : f32 to i32
    %abs = math.absf %f : f32
    %root = math.sqrt %abs : f32
    %exp = math.exp %root : f32
    // Loops: one with bounds from memory, one that hands two tensors on.
    %wide = arith.index_cast %w : i32 to index
    %most = arith.constant 9 : index
    %end = arith.minsi %wide, %most : index
    %zeros = tensor.empty() : tensor<4xi32>
    %least = arith.constant -9 : index
    %from = arith.maxsi %yi, %least : index
    %fib:3 = scf.for %j = %from to %end step %c2
        iter_args(%a = %in0, %b = %zeros, %turns = %zero)
        -> (tensor<4xi32>, tensor<4xi32>, i32) {
      %sum = arith.addi %a, %b : tensor<4xi32>
      %t1 = arith.addi %turns, %g : i32
      %ji = arith.index_cast %j : index to i32
      %changed = tensor.insert %ji into %sum[%j] : tensor<4xi32>
      %five = arith.constant 5 : i32
      %stop = arith.cmpi slt, %turns, %five : i32
      %kept = scf.if %stop -> (tensor<4xi32>) {
        mtp.store %ji, @grid[%j, %xi] : i32
        scf.yield %changed : tensor<4xi32>
      } else {
        scf.yield %a : tensor<4xi32>
      }
      scf.yield %b, %kept, %t1 : tensor<4xi32>, tensor<4xi32>, i32
    }
    %table = arith.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
    %entry = tensor.extract %table[%xi, %yi] : tensor<2x2xi32>
    mtp.store %entry, @grid[%yi, %xi] : i32
    mtp.store %product, @long[] : i64
    mtp.store %exp, @float[] : f32
    %all = tensor.from_elements %g, %s, %e, %div, %rem, %up, %shift, %right,
        %int, %uint, %fib#2, %entry : tensor<12xi32>
    %square = tensor.generate {
    ^bb0(%i: index, %j: index):
      %v = tensor.extract %fib#0[%i] : tensor<4xi32>
      %u = tensor.extract %fib#1[%j] : tensor<4xi32>
      %vu = arith.subi %v, %u : i32
      tensor.yield %vu : i32
    } : tensor<2x3xi32>
    mtp.yield %all, %square, %product, %exp
        : tensor<12xi32>, tensor<2x3xi32>, i64, f32
)";

/// Uses the states of a chain's round.
ControlModule mtp::codegen::test::anything() {
  std::string body = std::string(kConstants) + kAnything;
  return {"mtp.state @grid[3, max_k + 1] : i32\nmtp.state @long : i64\n"
          "mtp.state @float : f32\nmtp.state shared @shared[5] : i32\n",
          {"tensor<4xi32>"},
          {"tensor<12xi32>", "tensor<2x3xi32>", "i64", "f32"},
          body,
          {}};
}

/// $LOOP stands for the head of a loop, $JOIN for its end.
static constexpr const char *kSearch = R"(
    %one = arith.constant 1 : i32
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : i64
    %none = arith.constant -1 : i64
    %never = arith.constant 32768 : index
    %length = mtp.load @length[] : i32
    %n = arith.index_cast %length : i32 to index
    %n1 = arith.subi %n, %c1 : index
    %n2 = arith.subi %n, %c2 : index
    %t0 = mtp.load @tokens[%n] : i32
    %t1 = mtp.load @tokens[%n1] : i32
    %t2 = mtp.load @tokens[%n2] : i32
    %r:3 = $LOOP {
      %p1 = arith.subi %p, %c1 : index
      %p2 = arith.subi %p, %c2 : index
      %x0 = mtp.load @tokens[%p] : i32
      %x1 = mtp.load @tokens[%p1] : i32
      %is0 = arith.cmpi eq, %x0, %t0 : i32
      %is1 = arith.cmpi eq, %x1, %t1 : i32
      %is01 = arith.andi %is0, %is1 : i1
      // The third token is loaded only if the first two are equal.
      %is012 = scf.if %is01 -> (i1) {
        %x2 = mtp.load @tokens[%p2] : i32
        %is2 = arith.cmpi eq, %x2, %t2 : i32
        scf.yield %is2 : i1
      } else {
        scf.yield %is01 : i1
      }
      %w0 = arith.extui %is0 : i1 to i64
      %w1 = arith.extui %is01 : i1 to i64
      %w2 = arith.extui %is012 : i1 to i64
      %w01 = arith.addi %w0, %w1 : i64
      %w = arith.addi %w01, %w2 : i64
      %place = arith.index_cast %p : index to i64
      %high = arith.shli %w, %c32 : i64
      %found = arith.ori %high, %place : i64
      %score = arith.select %is0, %found, %none : i64
      %times = arith.extui %is0 : i1 to i32
      %at = arith.select %is0, %p, %never : index
      $JOIN
    }
    %first = arith.index_cast %r#2 : index to i32
    mtp.store %first, @length[] : i32
    mtp.yield %r#0, %r#1, %first : i64, i32, i32
)";

ControlModule mtp::codegen::test::search(bool byLanes) {
  std::string body = std::string(kConstants) + kSearch;
  std::string types = " -> (i64, i32, index)";
  std::string loop =
      byLanes
          ? "scf.parallel (%p) = (%c0) to (%n) step (%c1) "
            "init (%none, %one, %never)" +
                types
          : "scf.for %p = %c0 to %n step %c1 iter_args(%a = %none, %b = %one, "
            "%c = %never)" +
                types;
  std::string join =
      byLanes ? R"(scf.reduce(%score, %times, %at : i64, i32, index) {
      ^bb0(%a: i64, %b: i64):
        %m = arith.maxsi %a, %b : i64
        scf.reduce.return %m : i64
      }, {
      ^bb0(%a: i32, %b: i32):
        %s = arith.addi %a, %b : i32
        scf.reduce.return %s : i32
      }, {
      ^bb0(%a: index, %b: index):
        %m = arith.minsi %a, %b : index
        scf.reduce.return %m : index
      })"
              : R"(%d = arith.maxsi %a, %score : i64
      %e = arith.addi %b, %times : i32
      %f = arith.minsi %c, %at : index
      scf.yield %d, %e, %f : i64, i32, index)";
  body.replace(body.find("$LOOP"), 5, loop);
  body.replace(body.find("$JOIN"), 5, join);
  return {"mtp.state @tokens[" + std::to_string(kSearched) +
              "] : i32\nmtp.state @length : i32\n",
          {},
          {"i64", "i32", "i32"},
          body,
          {}};
}
