//===- CudaRuns.cpp - Launches of programs --------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/device/Rounds.h"
#include "runtime/device/cuda/CudaExecutable.h"
#include "runtime/device/cuda/ProfilerRange.h"

using namespace mtp;

Status CudaExecutable::checkRuns(const Program &program, uint32_t n) const {
  if (program.callsLibrary && !gemms)
    return failedPrecondition(strCat("program ", program.name,
                                     " has products of a library that was not "
                                     "asked for"));
  if (program.covers(n))
    return okStatus();
  return invalidArgument(strCat("expected ", program.begin, " to ",
                                program.end - 1, " slots or rows for program ",
                                program.name, ", got ", n));
}

KernelLaunch CudaExecutable::resolve(const Program &program,
                                     const Command &command, uint32_t n) const {
  const schema::Kernel &kernel = plan.kernelOf(command);
  std::vector<int64_t> params;
  for (Count param : program.paramsOf(command, kernel))
    params.push_back(param.at(n));
  KernelLaunch launch;
  launch.function = loaded->kernel(command.kernel);
  if (kernel.gemm()) {
    launch.gemm = gemms->find(*kernel.gemm(), params.front());
  } else {
    launch.threads = kernel.launch()->threads();
    launch.sharedBytes = kernel.launch()->shared_bytes();
  }
  for (const Place &place : program.placesOf(command, kernel))
    launch.arguments.push_back(address(place.at(n)));
  if (kernel.launch() && kernel.launch()->takes_live()) {
    const Place *live = program.activeRowsOf(command);
    launch.arguments.push_back(live ? address(live->at(n)) : 0);
  }
  launch.arguments.insert(launch.arguments.end(), params.begin(), params.end());
  launch.blocks = uint32_t(plan.tasksOf(command, params.data()));
  return launch;
}

LaunchList CudaExecutable::resolve(const Program &program, uint32_t n,
                                   CommandRange range, bool withRules) const {
  LaunchList launches;
  for (size_t i = range.begin; i < range.end; ++i)
    if (withRules || !plan.kernelOf(program.commands[i]).for_rules())
      launches.push_back(resolve(program, program.commands[i], n));
  return launches;
}

/// Runs `work`, which allocates memory of the GPU. If memory is short, drops
/// the older half of the graphs and tries again, as long as there are graphs.
/// Nothing may be running on the device.
Status CudaExecutable::makingRoom(bool keepLast,
                                  const std::function<Status()> &work) {
  Status status = work();
  while (status.code() == StatusCode::ResourceExhausted &&
         graphs.shrink(keepLast))
    status = work();
  return status;
}

Result<GraphParts> CudaExecutable::partsOf(const Program &program, uint32_t n,
                                           Piece piece) {
  std::optional<Part> part;
  if (piece == Piece::OnRequest)
    part = Part::OnRequest;
  else if (piece == Piece::FirstHalf || piece == Piece::SecondHalf)
    part = piece == Piece::FirstHalf ? Part::FirstHalf : Part::SecondHalf;
  MTP_ASSIGN_OR_RETURN(CommandRange range, rangeOf(program, part));
  GraphParts parts = {mailbox.launch(),
                      resolve(program, n, range, appliesRules), std::nullopt};
  if (piece == Piece::Repeated) {
    MTP_ASSIGN_OR_RETURN(Binding again, againOf(program, n));
    parts.nextRound = loop.nextRound(address(again), n);
  }
  return parts;
}

/// Returns the key of a graph. A slot count has 31 bits at most, and a program
/// index has fewer.
uint64_t CudaExecutable::keyOf(uint32_t program, uint32_t n,
                               Piece piece) const {
  return uint64_t(program) << 35 | uint64_t(n) << 4 |
         uint64_t(appliesRules) << 3 | uint64_t(piece);
}

Status CudaExecutable::expect(std::span<const ExpectedLaunch> launches) {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(checkIdle());
  auto pieceOf = [](const ExpectedLaunch &of) {
    return of.repeats ? Piece::Repeated : Piece::Whole;
  };
  for (const ExpectedLaunch &of : launches)
    graphs.expect(keyOf(of.program, of.n, pieceOf(of)), of.share);
  for (const ExpectedLaunch &of : launches) {
    if (!of.isPrepared)
      continue;
    Status built = graphOf(of.program, of.n, pieceOf(of)).status();
    if (built.code() == StatusCode::ResourceExhausted)
      return okStatus();
    MTP_RETURN_IF_ERROR(built);
  }
  return okStatus();
}

Result<const CudaGraph *> CudaExecutable::graphOf(uint32_t index, uint32_t n,
                                                  Piece piece) {
  uint64_t key = keyOf(index, n, piece);
  if (const CudaGraph *found = graphs.find(key))
    return found;
  const Program &program = plan.programs[index];
  MTP_RETURN_IF_ERROR(checkRuns(program, n));
  ProfilerRange range("build the ", piece == Piece::Repeated ? "loop" : "graph",
                      " of ", program.name, " for ", n);
  MTP_ASSIGN_OR_RETURN(GraphParts parts, partsOf(program, n, piece));
  std::unique_ptr<CudaGraph> graph;
  Status status = makingRoom(/*keepLast=*/false, [&]() -> Status {
    MTP_ASSIGN_OR_RETURN(graph, CudaGraph::build(context, parts, stream));
    return okStatus();
  });
  if (!status.isOk())
    return status.withContext(strCat("program ", program.name, " for ", n));
  return graphs.add(key, std::move(graph));
}

Result<std::string> CudaExecutable::useLibrary() {
  MTP_RETURN_IF_ERROR(context->enter());
  if (gemms)
    return gemms->library().name();
  MTP_RETURN_IF_ERROR(makingRoom(/*keepLast=*/false, [&]() -> Status {
    MTP_ASSIGN_OR_RETURN(gemms, PlanGemms::create(context, plan));
    return okStatus();
  }));
  return gemms->library().name();
}

Status CudaExecutable::launchGraph(uint32_t index, uint32_t n, Piece piece) {
  bool repeats = piece == Piece::Repeated;
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(checkIdle());
  MTP_ASSIGN_OR_RETURN(const CudaGraph *graph, graphOf(index, n, piece));
  if (repeats)
    loop.prepare();
  MTP_RETURN_IF_ERROR(makingRoom(/*keepLast=*/true, [&] {
    return context->check(
        context->driver().cuGraphLaunch(graph->exec(), stream),
        strCat("the launch of program ", plan.programs[index].name));
  }));
  if (repeats)
    loop.start();
  return okStatus();
}

Status CudaExecutable::run(uint32_t index, uint32_t n) {
  return runPiece(index, n, Piece::Whole);
}

Status CudaExecutable::runPart(uint32_t index, uint32_t n, Part part) {
  if (part == Part::FirstHalf)
    return runPiece(index, n, Piece::FirstHalf);
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(arena.keepScratch());
  return runPiece(index, n,
                  part == Part::SecondHalf ? Piece::SecondHalf
                                           : Piece::OnRequest);
}

Status CudaExecutable::runPiece(uint32_t index, uint32_t n, Piece piece) {
  ProfilerRange range(plan.programs[index].name, " for ", n);
  MTP_RETURN_IF_ERROR(launchGraph(index, n, piece));
  MTP_RETURN_IF_ERROR(wait(strCat("program ", plan.programs[index].name)));
  mailbox.clear();
  return okStatus();
}

Status CudaExecutable::startRounds(uint32_t index, uint32_t n) {
  ProfilerRange range("start rounds of ", plan.programs[index].name, " for ",
                      n);
  return launchGraph(index, n, Piece::Repeated);
}

Result<Progress> CudaExecutable::awaitRounds(uint32_t seen) {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_ASSIGN_OR_RETURN(Progress progress, loop.await(stream, seen));
  if (progress.isDone)
    mailbox.clear();
  return progress;
}

Status CudaExecutable::makeEvents(size_t count) {
  const DriverApi &driver = context->driver();
  while (events.size() < count) {
    CUevent event = nullptr;
    MTP_RETURN_IF_ERROR(
        driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate"));
    events.push_back(event);
  }
  return okStatus();
}

Status CudaExecutable::launchKernel(KernelLaunch &launch) {
  return makingRoom(/*keepLast=*/false, [&] {
    return context->check(context->driver().cuLaunchKernel(
                              launch.function, launch.blocks, 1, 1,
                              launch.threads, 1, 1, launch.sharedBytes, stream,
                              launch.pointers().data(), nullptr),
                          "cuLaunchKernel");
  });
}

/// Launches one kernel after another, with an event before and after each.
Status CudaExecutable::launchAll(LaunchList &launches) {
  const DriverApi &driver = context->driver();
  auto record = [&](size_t event) {
    return context->check(driver.cuEventRecord(events[event], stream),
                          "cuEventRecord");
  };
  MTP_RETURN_IF_ERROR(record(0));
  for (size_t i = 0; i < launches.size(); ++i) {
    KernelLaunch &launch = launches[i];
    if (launch.gemm)
      MTP_RETURN_IF_ERROR(launch.gemm->enqueue(launch.gemmBuffers(), stream));
    else if (launch.blocks != 0)
      MTP_RETURN_IF_ERROR(launchKernel(launch));
    MTP_RETURN_IF_ERROR(record(i + 1));
  }
  return okStatus();
}

Status CudaExecutable::runTimed(uint32_t index, uint32_t n,
                                CommandTimes &times) {
  MTP_RETURN_IF_ERROR(context->enter());
  const Program &program = plan.programs[index];
  ProfilerRange range(program.name, " for ", n, ", timed");
  MTP_RETURN_IF_ERROR(checkRuns(program, n));
  MTP_RETURN_IF_ERROR(deliver());
  MTP_ASSIGN_OR_RETURN(CommandRange all, rangeOf(program, std::nullopt));
  LaunchList launches = resolve(program, n, all, /*withRules=*/true);
  MTP_RETURN_IF_ERROR(makeEvents(launches.size() + 1));
  Status launched = launchAll(launches);
  // If a later kernel found no memory, the first kernels must end, too.
  Status ended = wait(strCat("program ", program.name));
  MTP_RETURN_IF_ERROR(launched.isOk() ? ended : launched);
  times.reset(1, launches.size());
  uint64_t begin = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    float milliseconds = 0;
    MTP_RETURN_IF_ERROR(
        context->check(context->driver().cuEventElapsedTime(
                           &milliseconds, events[0], events[i + 1]),
                       "cuEventElapsedTime"));
    uint64_t end = std::max(begin, uint64_t(double(milliseconds) * 1e6));
    times.store(0)[i] = {begin, end, end};
    begin = end;
  }
  return okStatus();
}
