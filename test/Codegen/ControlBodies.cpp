//===- ControlBodies.cpp - Control of a round as mtp.per_slot -------------===//

#include "ControlBodies.h"

using namespace mtp::codegen::test;

/// "tensor<3xi32>" with a first extent of rows; "i32" as a tensor of them.
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
      states + "exec.program @p \"function\" batch 0 k 0 chunk 0 {\n" +
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

/// The states of a chain's round.
static constexpr const char *kChainStates = R"(
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
)";

/// The length and the drafts that the last round accepted.
static constexpr const char *kReadChain = R"(
    %length = mtp.load @length[] : i32
    %n = arith.index_cast %length : i32 to index
    %accepted = mtp.load @accepted[] : i32
    %any = arith.index_cast %accepted : i32 to index
    %most = arith.constant $MAXK : index
    %low = arith.minsi %any, %most : index
    %a = arith.maxsi %low, %c0 : index
)";

ControlModule mtp::codegen::test::refreshRows(int64_t maxK, int64_t k,
                                              int64_t d) {
  std::string rows = "tensor<" + std::to_string(k + d) + "xi32>";
  std::string body = std::string(kConstants) + kReadChain + R"(
    %d = arith.constant $D : index
    %p0 = arith.subi %n, %a : index
    %first = arith.subi %p0, %d : index
    %ad = arith.addi %a, %d : index
    %newest = arith.subi %ad, %c1 : index
    %tokens = tensor.generate {
    ^bb0(%j: index):
      %position = arith.addi %first, %j : index
      %begun = arith.cmpi sge, %position, %c0 : index
      %there = arith.cmpi sle, %j, %newest : index
      %live = arith.andi %begun, %there : i1
      %known = arith.cmpi sle, %j, %a : index
      %w = mtp.load @window[%j] : i32
      %behind = arith.subi %j, %a : index
      %number = arith.subi %behind, %c1 : index
      %draft = tensor.extract %in0[%number] : tensor<$MAXKxi32>
      %token = arith.select %known, %w, %draft : i32
      %t = arith.select %live, %token, %zero : i32
      tensor.yield %t : i32
    } : $ROWS
    %positions = tensor.generate {
    ^bb0(%j: index):
      %position = arith.addi %first, %j : index
      %begun = arith.cmpi sge, %position, %c0 : index
      %there = arith.cmpi sle, %j, %newest : index
      %live = arith.andi %begun, %there : i1
      %short = arith.index_cast %position : index to i32
      %p = arith.select %live, %short, %minus : i32
      tensor.yield %p : i32
    } : $ROWS
    %slots_of_rows = tensor.splat %slot : $ROWS
    %count = arith.constant $COUNT : index
    %end = arith.constant $LAST : index
    %base = arith.muli %index, %count : index
    %row = arith.minsi %newest, %end : index
    %at = arith.addi %base, %row : index
    %last = arith.index_cast %at : index to i32
    mtp.yield %tokens, %slots_of_rows, %positions, %last
        : $ROWS, $ROWS, $ROWS, i32
)";
  replaceAll(body, "$ROWS", rows);
  return {kChainStates,
          {"tensor<$MAXKxi32>"},
          {rows, rows, rows, "i32"},
          body,
          {{"MAXK", maxK}, {"D", d}, {"COUNT", k + d}, {"LAST", k + d - 1}},
          2,
          maxK};
}

ControlModule mtp::codegen::test::verifyRows(int64_t maxK, int64_t k) {
  std::string rows = "tensor<" + std::to_string(k + 1) + "xi32>";
  std::string body = std::string(kConstants) + kReadChain + R"(
    %anchor = mtp.load @window[%a] : i32
    %k = arith.constant $ROUNDK : index
    %empty = tensor.empty() : $ROWS
    %begin = tensor.insert %anchor into %empty[%c0] : $ROWS
    %tokens = scf.for %j = %c0 to %k step %c1 iter_args(%all = %begin) -> $ROWS {
      %draft = tensor.extract %in0[%j] : tensor<$MAXKxi32>
      %next = arith.addi %j, %c1 : index
      %more = tensor.insert %draft into %all[%next] : $ROWS
      scf.yield %more : $ROWS
    }
    %positions = tensor.generate {
    ^bb0(%j: index):
      %position = arith.addi %n, %j : index
      %p = arith.index_cast %position : index to i32
      tensor.yield %p : i32
    } : $ROWS
    %slots_of_rows = tensor.splat %slot : $ROWS
    mtp.yield %tokens, %slots_of_rows, %positions : $ROWS, $ROWS, $ROWS
)";
  replaceAll(body, "$ROWS", rows);
  return {kChainStates, {"tensor<$MAXKxi32>"},           {rows, rows, rows},
          body,         {{"MAXK", maxK}, {"ROUNDK", k}}, 2,
          maxK};
}

ControlModule mtp::codegen::test::acceptWalk(int64_t k) {
  std::string body = std::string(kConstants) + R"(
    %k = arith.constant $K : index
    %true = arith.constant true
    %walk:2 = scf.for %j = %c0 to %k step %c1
        iter_args(%sofar = %c0, %open = %true) -> (index, i1) {
      %draft = tensor.extract %in0[%j] : tensor<$Kxi32>
      %pick = tensor.extract %in1[%j] : tensor<$ROWSxi32>
      %same = arith.cmpi eq, %draft, %pick : i32
      %still = arith.andi %open, %same : i1
      %more = arith.addi %sofar, %c1 : index
      %now = arith.select %still, %more, %sofar : index
      scf.yield %now, %still : index, i1
    }
    %count = arith.index_cast %walk#0 : index to i32
    %next = tensor.extract %in1[%walk#0] : tensor<$ROWSxi32>
    mtp.yield %count, %next : i32, i32
)";
  return {"",
          {"tensor<$Kxi32>", "tensor<$ROWSxi32>"},
          {"i32", "i32"},
          body,
          {{"K", k}, {"ROWS", k + 1}}};
}

ControlModule
mtp::codegen::test::treeWalk(const std::vector<int64_t> &parents) {
  std::string list;
  for (int64_t parent : parents)
    list += (list.empty() ? "" : ", ") + std::to_string(parent);
  std::string body = std::string(kConstants) + R"(
    %parents = arith.constant dense<[$LIST]> : tensor<$Nxi32>
    %n = arith.constant $N : index
    %blank = tensor.splat %minus : tensor<$Nxi32>
    %begin = tensor.insert %zero into %blank[%c0] : tensor<$Nxi32>
    %walk:3 = scf.for %c = %c1 to %n step %c1
        iter_args(%path = %begin, %at = %c0, %count = %c0)
        -> (tensor<$Nxi32>, index, index) {
      %parent = tensor.extract %parents[%c] : tensor<$Nxi32>
      %above = arith.index_cast %parent : i32 to index
      %token = tensor.extract %in0[%c] : tensor<$Nxi32>
      %pick = tensor.extract %in1[%at] : tensor<$Nxi32>
      %child = arith.cmpi eq, %above, %at : index
      %picked = arith.cmpi eq, %token, %pick : i32
      %goes = arith.andi %child, %picked : i1
      %step:3 = scf.if %goes -> (tensor<$Nxi32>, index, index) {
        %more = arith.addi %count, %c1 : index
        %node = arith.index_cast %c : index to i32
        %longer = tensor.insert %node into %path[%more] : tensor<$Nxi32>
        scf.yield %longer, %c, %more : tensor<$Nxi32>, index, index
      } else {
        scf.yield %path, %at, %count : tensor<$Nxi32>, index, index
      }
      scf.yield %step#0, %step#1, %step#2 : tensor<$Nxi32>, index, index
    }
    %accepted = arith.index_cast %walk#2 : index to i32
    %next = tensor.extract %in1[%walk#1] : tensor<$Nxi32>
    mtp.yield %walk#0, %accepted, %next : tensor<$Nxi32>, i32, i32
)";
  replaceAll(body, "$LIST", list);
  return {"",
          {"tensor<$Nxi32>", "tensor<$Nxi32>"},
          {"tensor<$Nxi32>", "i32", "i32"},
          body,
          {{"N", int64_t(parents.size())}}};
}

ControlModule mtp::codegen::test::anything() {
  std::string body = std::string(kConstants) + R"(
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
  return {"mtp.state @grid[3, max_k + 1] : i32\nmtp.state @long : i64\n"
          "mtp.state @float : f32\nmtp.state shared @shared[5] : i32\n",
          {"tensor<4xi32>"},
          {"tensor<12xi32>", "tensor<2x3xi32>", "i64", "f32"},
          body,
          {}};
}
