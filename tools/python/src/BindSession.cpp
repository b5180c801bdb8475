//===- BindSession.cpp - Sessions -----------------------------------------===//
//
// All calls of a session release the GIL, since each may wait for a step.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "tools/python/src/AnswerText.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Gil.h"
#include "tools/python/src/Handles.h"
#include "tools/python/src/RequestFields.h"
#include "tools/python/src/Values.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;
using namespace nb::literals;

std::shared_ptr<SharedSession> SessionHandle::get() const {
  if (isForked())
    throw StatusError(failedPrecondition(
        "expected a session of this process, got one from before a fork"));
  std::lock_guard lock(mutex);
  if (!session)
    throw StatusError(
        failedPrecondition("expected an open session, got a closed one"));
  return session;
}

void SessionHandle::close() {
  if (isForked()) {
    // Never freed: the end of its threads would be awaited.
    new std::shared_ptr<SharedSession>(std::move(session));
    return;
  }
  std::shared_ptr<SharedSession> last;
  std::lock_guard lock(mutex);
  // Freed after the lock.
  std::swap(last, session);
}

bool SessionHandle::isClosed() const {
  std::lock_guard lock(mutex);
  return !session;
}

/// Calls a function of the session without the GIL and returns its result.
template <typename F>
static auto release(const SessionHandle &handle, F function) {
  std::shared_ptr<SharedSession> session = handle.get();
  WithoutGil unlocked;
  // Frees the session, if another thread has closed it, without the GIL.
  std::shared_ptr<SharedSession> used = std::move(session);
  return function(*used);
}

/// Calls a function with the session while no thread steps.
template <typename F>
static auto locked(const SessionHandle &handle, F function) {
  return release(
      handle, [&](SharedSession &session) { return session.locked(function); });
}

static nb::object seenOf(const SequenceUpdate &update) {
  if (!update.seen)
    return nb::none();
  return nb::make_tuple(update.seen->tokens, update.seen->parents);
}

/// Returns each position as (token, logprob, rank, [(token, logprob)]).
static nb::list toPython(const std::vector<TokenLogprobs> &positions) {
  nb::list list;
  for (const TokenLogprobs &at : positions) {
    nb::list likeliest;
    for (const TokenLogprob &one : at.likeliest)
      likeliest.append(nb::make_tuple(one.token, one.logprob));
    list.append(nb::make_tuple(at.own.token, at.own.logprob, at.rank,
                               std::move(likeliest)));
  }
  return list;
}

/// Returns (id, tokens, finish, stop token, error, drafted, outputs, seen,
/// log-probabilities, log-probabilities of the prompt).
static nb::tuple toPython(SequenceUpdate update) {
  nb::object stop = update.stopToken ? nb::object(nb::int_(*update.stopToken))
                                     : nb::object(nb::none());
  nb::object error =
      update.error.isOk() ? nb::object(nb::none()) : exceptionOf(update.error);
  return nb::make_tuple(
      update.id, update.tokens, python::toPython(update.finish), stop, error,
      update.drafted, python::toPython(std::move(update.outputs)),
      seenOf(update), toPython(update.logprobs),
      toPython(update.promptLogprobs));
}

/// Waits for an update, or for the end of a sequence, and turns its tokens into
/// text. Returns (update, content, reasoning, [(name, arguments)], stop
/// string). An exception of a signal handler ends the wait.
static nb::tuple await(const SessionHandle &handle, SequenceId id,
                       AnswerText *answer, bool isWhole) {
  Signals signals;
  auto update = release(handle, [&](SharedSession &session) {
    auto haveRaised = [&] { return signals.haveRaised(); };
    OnUpdate onUpdate = [&](SequenceUpdate &news) {
      return answer ? answer->take(news) : okStatus();
    };
    if (isWhole)
      return session.finish(id, onUpdate, haveRaised);
    Result<SequenceUpdate> next = session.next(id, haveRaised);
    Status status = next ? onUpdate(*next) : okStatus();
    return status.isOk() ? std::move(next) : Result<SequenceUpdate>(status);
  });
  signals.rethrow();
  nb::tuple raw = toPython(take(std::move(update)));
  if (!answer)
    return nb::make_tuple(raw, "", "", nb::list(), "");
  AnswerNews news = answer->takeNews();
  nb::list calls;
  for (const AnswerCall &call : news.calls)
    calls.append(nb::make_tuple(call.name, call.arguments));
  return nb::make_tuple(raw, news.content, news.reasoning, calls,
                        answer->stopString());
}

static nb::list step(const SessionHandle &handle) {
  // Before the step, so that no update is lost.
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
  auto updates = take(
      release(handle, [](SharedSession &session) { return session.step(); }));
  nb::list list;
  for (SequenceUpdate &update : updates)
    list.append(toPython(std::move(update)));
  return list;
}

static SessionHandle *openSession(const ModelHandle &model,
                                  const nb::dict &fields) {
  SessionOptions options = sessionOptions(fields);
  WithoutGil unlocked;
  return new SessionHandle(
      take(SharedSession::create(model.loaded->model(), options)),
      model.loaded);
}

/// Returns rows `first` to `last` of the logits, [rows, vocab].
static nb::tuple logits(const SessionHandle &handle, SequenceId id,
                        size_t first, size_t last) {
  Tensor rows{{ElementType::F32, {0, 0}}, {}};
  check(locked(handle, [&](Session &session) -> Status {
    for (size_t i = first; i < last; ++i) {
      MTP_ASSIGN_OR_RETURN(std::span<const float> row, session.logits(id, i));
      const auto *bytes = reinterpret_cast<const uint8_t *>(row.data());
      rows.bytes.insert(rows.bytes.end(), bytes, bytes + row.size_bytes());
      rows.type.shape = {i + 1 - first, row.size()};
    }
    return okStatus();
  }));
  return python::toPython(std::move(rows));
}

static nb::list runFunction(const SessionHandle &handle,
                            const std::string &name, const nb::list &values) {
  std::vector<Tensor> inputs;
  for (nb::handle value : values)
    inputs.push_back(toTensor(nb::cast<nb::tuple>(value)));
  auto outputs = take(locked(handle, [&](Session &session) {
    return session.runFunction(name, inputs);
  }));
  nb::list list;
  for (Tensor &output : outputs)
    list.append(python::toPython(std::move(output)));
  return list;
}

static const char *nameOf(SequenceState state) {
  switch (state) {
  case SequenceState::Waiting:
    return "waiting";
  case SequenceState::Prefilling:
    return "prefilling";
  case SequenceState::Running:
    return "running";
  case SequenceState::Paused:
    return "paused";
  case SequenceState::Finished:
    return "finished";
  }
  return "";
}

static std::vector<int32_t> output(const SessionHandle &handle, SequenceId id) {
  std::vector<int32_t> ids;
  check(locked(handle, [&](Session &session) -> Status {
    MTP_ASSIGN_OR_RETURN(std::span<const int32_t> all, session.output(id));
    ids.assign(all.begin(), all.end());
    return okStatus();
  }));
  return ids;
}

/// Returns a failure that begins with an argument. A message may begin with a
/// place in the argument: "[1].function: ...".
static Status withArgument(const Status &status, const std::string &argument) {
  std::string_view between = status.message().starts_with('[') ? "" : ": ";
  return {status.code(), strCat(argument, between, status.message())};
}

static SequenceId add(const SessionHandle &handle, const nb::dict &fields,
                      bool hasStream) {
  Request request = requestOf(fields);
  auto asked = constraintOf(fields);
  return take(
      release(handle, [&](SharedSession &session) -> Result<SequenceId> {
        if (asked) {
          const auto &[demand, argument] = *asked;
          auto constraint = handle.getModel().constraint(demand);
          if (!constraint)
            return withArgument(constraint.status(), argument);
          request.constraint = std::move(*constraint);
        }
        return session.add(std::move(request), hasStream);
      }));
}

static void setInput(const SessionHandle &handle, SequenceId id,
                     const std::string &name, const nb::tuple &value) {
  RequestInput input{name, toTensor(value)};
  check(locked(handle, [&](Session &session) {
    return session.setInput(id, std::move(input));
  }));
}

static void cancel(const SessionHandle &handle, SequenceId id) {
  check(release(handle,
                [&](SharedSession &session) { return session.cancel(id); }));
}

static void drop(const SessionHandle &handle, SequenceId id) {
  check(release(handle,
                [&](SharedSession &session) { return session.drop(id); }));
}

static void pauseSequence(const SessionHandle &handle, SequenceId id) {
  check(locked(handle, [&](Session &session) { return session.pause(id); }));
}

static void resumeSequence(const SessionHandle &handle, SequenceId id) {
  check(locked(handle, [&](Session &session) { return session.resume(id); }));
}

static const char *state(const SessionHandle &handle, SequenceId id) {
  return nameOf(take(
      locked(handle, [&](Session &session) { return session.state(id); })));
}

static void bindSequences(nb::class_<SessionHandle> &session) {
  session.def("add", &add, "fields"_a, "has_stream"_a)
      .def("step", &step)
      .def("await_", &await, "id"_a, "answer"_a.none(), "is_whole"_a)
      .def("set_input", &setInput, "id"_a, "name"_a, "value"_a)
      .def("cancel", &cancel, "id"_a)
      .def("drop", &drop, "id"_a)
      .def("pause", &pauseSequence, "id"_a)
      .def("resume", &resumeSequence, "id"_a)
      .def("state", &state, "id"_a)
      .def("output", &output, "id"_a)
      .def("logits", &logits, "id"_a, "first"_a, "last"_a);
}

static nb::dict options(const SessionHandle &handle) {
  const SessionOptions &o = handle.get()->get().options();
  nb::dict d;
  d["k"] = o.k;
  d["automatic_k"] = o.automaticK;
  d["draft_p_min"] = o.draftPMin;
  d["threads"] = o.threads;
  d["kv_pages"] = o.kvPages;
  d["max_batch"] = o.maxSlots;
  d["prefill_chunk"] = o.prefillChunk;
  d["rounds_per_launch"] = o.roundsPerLaunch;
  d["capture_sizes"] = nb::tuple(nb::cast(o.captureSizes));
  d["prefix_cache"] = o.prefixCache;
  return d;
}

static void bindStatistics(nb::class_<SessionHandle> &session) {
  using Handle = const SessionHandle &;
  session
      .def("kv_usage",
           [](Handle s) {
             KvUsage usage =
                 locked(s, [](Session &session) { return session.kvUsage(); });
             return nb::make_tuple(usage.freePages, usage.cachedPages,
                                   usage.heldPages);
           })
      .def("statistics",
           [](Handle s) {
             return toPython(locked(
                 s, [](Session &session) { return session.copyStatistics(); }));
           })
      .def(
          "sequence_statistics",
          [](Handle s, SequenceId id) {
            return toPython(take(locked(
                s, [&](Session &session) { return session.statistics(id); })));
          },
          "id"_a);
}

void python::bindSession(nb::module_ &module) {
  using Handle = const SessionHandle &;
  nb::class_<SessionHandle> session(module, "Session");
  module.def("open_session", &openSession, "model"_a, "options"_a);
  bindSequences(session);
  bindStatistics(session);
  session.def("close", &SessionHandle::close, nb::call_guard<WithoutGil>())
      .def_prop_ro("is_closed", &SessionHandle::isClosed)
      .def_prop_ro("is_idle",
                   [](Handle s) {
                     return locked(
                         s, [](Session &session) { return session.idle(); });
                   })
      .def_prop_ro("awaits_host",
                   [](Handle s) {
                     return locked(s, [](Session &session) {
                       return session.awaitsHost();
                     });
                   })
      .def_prop_ro("unfinished",
                   [](Handle s) {
                     return locked(s, [](Session &session) {
                       return session.unfinished();
                     });
                   })
      .def_prop_ro("memory_bytes",
                   [](Handle s) { return s.get()->get().memoryBytes(); })
      .def_prop_ro("options", &options)
      .def_prop_ro(
          "profile_notes",
          [](Handle s) { return SessionProfile::notes(s.get()->get()); })
      .def("run_function", &runFunction, "name"_a, "inputs"_a);
}
