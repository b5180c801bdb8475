//===- VerifyCoverage.cpp - Checks of the programs of an envelope ---------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/HostOutputs.h"
#include "runtime/schema/KvPage.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/PromptLayout.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// Checks an output with `rows` rows, a count.
static Status verifyOutput(const Program &program, std::string_view name,
                           schema::DType dtype, Count rows,
                           std::vector<uint64_t> width) {
  for (const Port &port : program.outputs) {
    if (port.name != name)
      continue;
    for (uint64_t n : {uint64_t(program.begin), uint64_t(program.end) - 1}) {
      std::vector<uint64_t> shape = {uint64_t(rows.at(n))};
      shape.insert(shape.end(), width.begin(), width.end());
      std::string got = tensorTypeName(port.dtype, port.shapeAt(n));
      std::string expected = tensorTypeName(dtype, shape);
      if (got != expected)
        return dataLoss(
            strCat("output '", name, "': expected ", expected, ", got ", got));
    }
    return okStatus();
  }
  return dataLoss(strCat("expected an output named '", name, "'"));
}

static Status verifyOutputs(const Artifact &artifact, const Program &program,
                            Count rows, Count verified) {
  MTP_RETURN_IF_ERROR(verifyOutput(program, "logits", schema::DType::F32,
                                   verified, {artifact.envelope->vocab()}));
  return verifyOutput(program, "picks", schema::DType::I32, rows, {});
}

/// Returns the number of window rows that a round verifies and that have
/// logits: all rows, or the envelope's budget if it is smaller.
static Result<Count> verifiedRows(const Artifact &artifact,
                                  const Program &program, Count rows) {
  int64_t budget = artifact.envelope->max_rows();
  if (budget == 0 || rows.at(program.end - 1) <= budget)
    return rows;
  if (rows.at(program.begin) <= budget)
    return dataLoss(strCat("expected batches of more than ", budget,
                           " rows in a program of their own, got batch ",
                           program.begin, " to ", program.end - 1));
  if (!program.output("places") || !artifact.findState("draft_limit") ||
      !artifact.findState("loop"))
    return dataLoss(strCat("expected an output 'places' and the states 'loop' "
                           "and 'draft_limit' where ",
                           budget, " rows are verified of ",
                           rows.at(program.begin), " and more"));
  return Count{budget, 0};
}

/// Checks a mixed batch: a round with prompt rows. `rows` are the round's own
/// rows, and `verified` of them have logits. The last row of each prompt also
/// has logits, in an output of its own.
static Status verifyMixed(const Artifact &artifact, const Program &program,
                          Count rows, Count verified) {
  const schema::Envelope &e = *artifact.envelope;
  if (program.prompts > e.prefill_chunk())
    return dataLoss(strCat("expected at most ", e.prefill_chunk(),
                           " rows of prompts, as a chunk has, got ",
                           program.prompts));
  uint32_t sequences = program.sequences;
  uint32_t most = std::min(program.prompts, e.max_batch());
  if (sequences < 1 || sequences > most)
    return dataLoss(strCat("expected 1 to ", most,
                           " prompts beside a round, each with a row, got ",
                           sequences));
  MTP_RETURN_IF_ERROR(verifyOutput(program, "logits", schema::DType::F32,
                                   {verified.base + sequences, verified.step},
                                   {e.vocab()}));
  MTP_RETURN_IF_ERROR(verifyOutput(program, strCat(kPromptOutputs, "logits"),
                                   schema::DType::F32, {sequences, 0},
                                   {e.vocab()}));
  return verifyOutput(program, "picks", schema::DType::I32, rows, {});
}

/// Whether the host knows an output by name.
static bool isHostOutput(std::string_view name) {
  if (name.starts_with(kPromptOutputs))
    name.remove_prefix(kPromptOutputs.size());
  return std::ranges::find(kHostOutputs, name) != std::end(kHostOutputs);
}

/// Checks that a declared output, which requests receive, has the rows that it
/// claims.
static Status verifyDeclared(const Program &program, const Port &port) {
  if (port.of > schema::PortRows::MAX || isHostOutput(port.name) ||
      program.kind == schema::ProgramKind::Function)
    return dataLoss(strCat("output '", port.name,
                           "': expected no rows of slots or tokens, got ",
                           unsigned(port.of)));
  if (port.dtype != schema::DType::F32 && port.dtype != schema::DType::I32)
    return dataLoss(strCat("output '", port.name,
                           "': expected i32 or f32, got ",
                           dtypeName(port.dtype)));
  Count rows = {0, 1};
  if (program.kind == schema::ProgramKind::Prefill)
    rows = {program.sequences, 0};
  else if (port.of == schema::PortRows::Tokens)
    rows = {0, program.windowRows()};
  std::vector<uint64_t> shape = port.shapeAt(program.begin);
  if (shape.empty() || shape.size() > 2)
    return dataLoss(strCat("output '", port.name, "': expected rows, got ",
                           tensorTypeName(port.dtype, shape)));
  return verifyOutput(program, port.name, port.dtype, rows,
                      {shape.begin() + 1, shape.end()});
}

//===----------------------------------------------------------------------===//
// Coverage
//===----------------------------------------------------------------------===//

namespace {
/// Disjoint ranges of n that have a program.
class Ranges {
public:
  /// Returns the first n that the range shares with another, or nothing if the
  /// range was added.
  std::optional<uint32_t> add(uint32_t begin, uint32_t end) {
    auto next = ranges.lower_bound(begin);
    if (next != ranges.end() && next->first < end)
      return next->first;
    if (next != ranges.begin() && std::prev(next)->second > begin)
      return begin;
    ranges[begin] = end;
    return std::nullopt;
  }
  /// Returns the first n from `begin` on without a program.
  uint32_t endFrom(uint32_t begin) const {
    for (auto [first, end] : ranges)
      if (first <= begin && begin < end)
        begin = end;
    return begin;
  }
  /// Returns the first n of these ranges that `others` do not have, or nothing.
  std::optional<uint32_t> without(const Ranges &others) const {
    for (auto [begin, end] : ranges)
      if (uint32_t covered = others.endFrom(begin); covered < end)
        return covered;
    return std::nullopt;
  }
  bool empty() const { return ranges.empty(); }

private:
  std::map<uint32_t, uint32_t> ranges;
};

/// The programs found so far, by their selection criteria.
struct Coverage {
  /// Decode programs by k, exclusive upper bound of positions (0: any) and
  /// number of prompts in the mixed batch.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Ranges> decode;
  /// Prefills without and with drafting, by their number of sequences.
  std::map<uint32_t, Ranges> plain, drafting;
  /// Prefills for drafters that catch up: their ranges, how many positions they
  /// can reach back, and their number of sequences.
  Ranges catchUps;
  uint32_t reach = 0, catchUpSequences = 0;
  /// Rows of each prefill that uses a GPU library; 0 if there is none.
  uint32_t libraryRows = 0;
  bool hasPlainLibrary = false, hasDraftingLibrary = false;
  /// Type and kind of a declared output's rows.
  std::map<std::string_view, std::string> declared;

  /// Whether the decode programs with drafts may stop.
  std::optional<bool> stops;

  Status add(const Artifact &artifact, const Program &program);
  Status addDeclared(const Program &program);
  Status addDecode(const Artifact &artifact, const Program &program);
  Status addPrefill(const Artifact &artifact, const Program &program);
  Status addLibrary(const Artifact &artifact, const Program &program);
  Status addCatchUp(const Program &program);
  Status verify(const schema::Envelope &e);
  Status verifyPrefills(const schema::Envelope &e);
  Status verifyCatchUps(const schema::Envelope &e);
};
} // namespace

/// "batch 3", or "batch 3 to 5".
static std::string rangeText(const char *what, const Program &program) {
  uint32_t last = program.end - 1;
  return last == program.begin ? strCat(what, " ", program.begin)
                               : strCat(what, " ", program.begin, " to ", last);
}

/// Checks that the rows of a slot that a round verifies are nodes of a tree of
/// depth k.
static Status verifyWindow(const schema::Envelope &e, const Program &program) {
  uint64_t most = mostNodes(program.k, e.max_k(), e.max_nodes());
  uint32_t rows = program.windowRows();
  if (rows > program.k && rows <= most)
    return okStatus();
  return dataLoss(strCat("output 'picks': expected ", program.k + 1, " to ",
                         most, " rows of a slot, got ", rows));
}

/// Checks the outputs that the host sees if a program stops: a row of drafts
/// for each slot and, for a computed tree, the parents of all nodes.
static Status verifyDrafts(const Program &program) {
  const Port *drafts = program.output("drafts");
  uint64_t count = 0;
  if (drafts && drafts->shape.size() == 2)
    count = drafts->shapeAt(program.begin)[1];
  MTP_RETURN_IF_ERROR(verifyOutput(program, "drafts", schema::DType::I32,
                                   {0, 1}, {std::max<uint64_t>(count, 1)}));
  return program.output("parents")
             ? verifyOutput(program, "parents", schema::DType::I32, {0, 1},
                            {count + 1})
             : okStatus();
}

Status Coverage::addDecode(const Artifact &artifact, const Program &program) {
  const schema::Envelope &e = *artifact.envelope;
  if (program.begin < 1 || program.end - 1 > e.max_batch() ||
      program.k > e.max_k())
    return dataLoss(strCat(rangeText("batch", program), ", k ", program.k,
                           " is outside the envelope of batch ", e.max_batch(),
                           ", k ", e.max_k()));
  uint32_t sequences = program.prompts ? program.sequences : 0;
  if (auto twice = decode[{program.k, program.positions, sequences}].add(
          program.begin, program.end))
    return dataLoss(strCat("a second decode program for batch ", *twice, ", k ",
                           program.k,
                           program.prompts ? " with rows of prompts" : ""));
  MTP_RETURN_IF_ERROR(verifyWindow(e, program));
  Count rows = {0, program.windowRows()};
  if (program.output("path"))
    MTP_RETURN_IF_ERROR(verifyOutput(program, "path", schema::DType::I32,
                                     {0, 1}, {uint64_t(program.k) + 1}));
  if (program.output("places"))
    MTP_RETURN_IF_ERROR(
        verifyOutput(program, "places", schema::DType::I32, rows, {}));
  bool isCut = program.cut != 0;
  if (program.k > 0 && stops.value_or(isCut) != isCut)
    return dataLoss(strCat("expected ", *stops ? "a" : "no",
                           " cut, as in other programs with drafts, got ",
                           program.cut));
  if (program.k > 0)
    stops = isCut;
  if (isCut)
    MTP_RETURN_IF_ERROR(verifyDrafts(program));
  if (artifact.findState("ring"))
    MTP_RETURN_IF_ERROR(
        verifyOutput(program, kAgain, schema::DType::I32, {0, 1}, {}));
  MTP_ASSIGN_OR_RETURN(Count verified, verifiedRows(artifact, program, rows));
  return program.prompts ? verifyMixed(artifact, program, rows, verified)
                         : verifyOutputs(artifact, program, rows, verified);
}

/// Adds a second prefill, for a chunk of whole pages. Each row's position in
/// the chunk is its index.
Status Coverage::addLibrary(const Artifact &artifact, const Program &program) {
  const schema::Envelope &e = *artifact.envelope;
  uint32_t rows = program.begin;
  if (rows % e.page_tokens() || rows > e.prefill_chunk())
    return dataLoss(strCat("expected whole pages of ", e.page_tokens(),
                           " rows, up to ", e.prefill_chunk(),
                           ", for a prefill with products of a library, got ",
                           rows));
  if (libraryRows && libraryRows != rows)
    return dataLoss(strCat("expected prefills with products of a library for ",
                           libraryRows, " rows, got one for ", rows));
  libraryRows = rows;
  bool &has = program.drafts ? hasDraftingLibrary : hasPlainLibrary;
  if (has)
    return dataLoss(strCat("a second prefill program with products of a "
                           "library ",
                           program.drafts ? "with" : "without", " drafts"));
  has = true;
  return verifyOutputs(artifact, program, {1, 0}, {1, 0});
}

/// Adds a prefill that picks no token.
Status Coverage::addCatchUp(const Program &program) {
  if (program.callsLibrary)
    return dataLoss("expected no products of a library in a prefill for "
                    "drafters that lag");
  if (!program.outputs.empty())
    return dataLoss(strCat("expected no outputs of a prefill for drafters that "
                           "lag, got '",
                           program.outputs.front().name, "'"));
  if (reach != 0 && reach != program.catchUp)
    return dataLoss(strCat("expected catch_up of ", reach,
                           ", as in other programs, got ", program.catchUp));
  reach = program.catchUp;
  if (catchUpSequences != 0 && catchUpSequences != program.sequences)
    return dataLoss(strCat("expected catch_up of ", catchUpSequences,
                           " sequences, as in other programs, got ",
                           program.sequences));
  catchUpSequences = program.sequences;
  if (auto twice = catchUps.add(program.begin, program.end))
    return dataLoss(strCat("a second prefill program for ", *twice,
                           " rows of drafters that lag"));
  return okStatus();
}

Status Coverage::addPrefill(const Artifact &artifact, const Program &program) {
  uint32_t most = artifact.envelope->prefill_chunk();
  if (program.begin < 1 || program.end - 1 > most)
    return dataLoss(strCat("expected a chunk of 1 to ", most, " rows, got ",
                           rangeText("rows", program)));
  uint32_t sequences = program.sequences;
  // In a catch-up some sequences may have no row.
  uint32_t mostSequences = artifact.envelope->max_batch();
  if (!program.catchUp)
    mostSequences = std::min(mostSequences, program.begin);
  if (sequences < 1 || sequences > mostSequences)
    return dataLoss(strCat("expected a chunk of 1 to ", mostSequences,
                           " sequences, got ", sequences));
  if (program.catchUp)
    return addCatchUp(program);
  if (program.callsLibrary)
    return addLibrary(artifact, program);
  Ranges &ranges = (program.drafts ? drafting : plain)[sequences];
  if (auto twice = ranges.add(program.begin, program.end))
    return dataLoss(strCat("a second prefill program for ", *twice, " rows of ",
                           sequences, " sequences ",
                           program.drafts ? "with" : "without", " drafts"));
  return verifyOutputs(artifact, program, {sequences, 0}, {sequences, 0});
}

/// Adds declared outputs. A name must mean the same in all programs.
Status Coverage::addDeclared(const Program &program) {
  for (const Port &port : program.outputs) {
    if (port.of == schema::PortRows::None)
      continue;
    MTP_RETURN_IF_ERROR(verifyDeclared(program, port));
    std::vector<uint64_t> shape = port.shapeAt(program.begin);
    shape.erase(shape.begin());
    std::string own =
        strCat(tensorTypeName(port.dtype, shape), " for ",
               port.of == schema::PortRows::Slots ? "slots" : "tokens");
    auto known = declared.try_emplace(port.name, own).first;
    if (known->second != own)
      return dataLoss(strCat("output '", port.name, "': expected rows of ",
                             known->second, ", as in other programs, got ",
                             own));
  }
  return okStatus();
}

Status Coverage::add(const Artifact &artifact, const Program &program) {
  MTP_RETURN_IF_ERROR(addDeclared(program));
  switch (program.kind) {
  case schema::ProgramKind::Decode:
    return addDecode(artifact, program);
  case schema::ProgramKind::Prefill:
    return addPrefill(artifact, program);
  case schema::ProgramKind::Function:
    break;
  }
  return okStatus();
}

/// Checks the prefills. If drafting prefills are separate programs, both kinds
/// must have the same chunks. No chunk needs several sequences.
Status Coverage::verifyPrefills(const schema::Envelope &e) {
  if (plain[1].endFrom(e.prefill_chunk()) == e.prefill_chunk())
    return dataLoss(strCat("programs: expected a prefill program for chunk ",
                           e.prefill_chunk(), " without drafts"));
  bool hasDrafting = !drafting.empty();
  if (libraryRows && !(hasPlainLibrary && hasDraftingLibrary == hasDrafting))
    return dataLoss("programs: expected prefills with products of a library "
                    "with and without drafts where the others are, got one of "
                    "them");
  if (!hasDrafting)
    return okStatus();
  for (auto [a, b] : {std::pair(&plain, &drafting), {&drafting, &plain}})
    for (auto &[sequences, ranges] : *a)
      if (auto rows = ranges.without((*b)[sequences]))
        return dataLoss(strCat("programs: expected prefill programs for chunk ",
                               *rows,
                               " with and without drafts, got one of them"));
  return okStatus();
}

/// Checks that drafters can be refreshed over any number of rows, up to a
/// chunk's rows or the rows that they reach back.
Status Coverage::verifyCatchUps(const schema::Envelope &e) {
  uint32_t most = uint32_t(std::min<uint64_t>(
      uint64_t(reach) * catchUpSequences, e.prefill_chunk()));
  if (uint32_t end = catchUps.endFrom(1); reach != 0 && end <= most)
    return dataLoss(strCat("programs: expected a prefill program for every ",
                           "number of rows up to ", most,
                           " of drafters that lag, got none for ", end));
  return okStatus();
}

Status Coverage::verify(const schema::Envelope &e) {
  for (uint32_t k = 0; k <= e.max_k(); ++k) {
    auto ranges = decode.find({k, 0, 0});
    uint32_t batch = ranges == decode.end() ? 1 : ranges->second.endFrom(1);
    if (batch <= e.max_batch())
      return dataLoss(strCat("programs: expected a decode program for every "
                             "batch up to ",
                             e.max_batch(), " and every k up to ", e.max_k(),
                             ", got none for batch ", batch, ", k ", k));
  }
  MTP_RETURN_IF_ERROR(verifyCatchUps(e));
  return verifyPrefills(e);
}

Status mtp::verifyCoverage(const Artifact &artifact, const Plan &plan) {
  Coverage coverage;
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    const Program &program = plan.programs[i];
    std::string where = strCat("programs[", i, "]");
    if (!artifact.envelope && program.kind != schema::ProgramKind::Function)
      return dataLoss(strCat(where, ": expected an envelope for a program "
                                    "that is no function"));
    if (Status status = coverage.add(artifact, program); !status.isOk())
      return withPath(status, where);
  }
  return artifact.envelope ? coverage.verify(*artifact.envelope) : okStatus();
}
