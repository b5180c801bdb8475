//===- BindSession.cpp - Sessions -----------------------------------------===//
//
// All calls of a session release the GIL, since each may wait for a step.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Handles.h"
#include "tools/python/src/Values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <type_traits>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;
using namespace nb::literals;

std::shared_ptr<SharedSession> SessionHandle::get() const {
  std::lock_guard lock(mutex);
  if (!session)
    throw StatusError(
        failedPrecondition("expected an open session, got a closed one"));
  return session;
}

void SessionHandle::close() {
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
  nb::gil_scoped_release release;
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

static LogitsMode logitsOf(const std::string &name) {
  if (name == "none")
    return LogitsMode::None;
  if (name == "last")
    return LogitsMode::Last;
  if (name == "all")
    return LogitsMode::All;
  throw StatusError(invalidArgument(
      strCat("expected logits 'none', 'last' or 'all', got '", name, "'")));
}

/// Describes the values of a field's type, for errors.
template <typename T>
static std::string describe() {
  if constexpr (std::is_same_v<T, bool>)
    return "True or False";
  else if constexpr (std::is_integral_v<T>)
    return strCat("a whole number of ", std::numeric_limits<T>::min(), " to ",
                  std::numeric_limits<T>::max());
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "a string";
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return "strings";
  else
    return "token ids";
}

/// Sets a field from the option of its name, if there is one.
template <typename T>
static void read(const nb::dict &options, const char *name, T &field) {
  constexpr size_t kMostText = 60;
  if (!options.contains(name))
    return;
  nb::object value = options[name];
  if (!nb::try_cast<T>(value, field))
    throw StatusError(invalidArgument(
        strCat("expected ", describe<T>(), " as '", name, "', got ",
               std::string(nb::repr(value).c_str()).substr(0, kMostText))));
}

static SessionOptions sessionOptions(const nb::dict &options) {
  SessionOptions o;
  read(options, "k", o.k);
  read(options, "automatic_k", o.automaticK);
  read(options, "threads", o.threads);
  read(options, "pin_threads", o.pinThreads);
  read(options, "populate_memory", o.populateMemory);
  read(options, "kv_pages", o.kvPages);
  read(options, "max_batch", o.maxSlots);
  read(options, "prefill_chunk", o.prefillChunk);
  read(options, "chunks_per_step", o.chunksPerStep);
  read(options, "prompt_milliseconds", o.promptMilliseconds);
  read(options, "step_milliseconds", o.stepMilliseconds);
  read(options, "separate_prompts", o.separatePrompts);
  read(options, "rounds_per_launch", o.roundsPerLaunch);
  read(options, "prefix_cache", o.prefixCache);
  read(options, "snapshot_bytes", o.snapshotBytes);
  read(options, "snapshot_tokens", o.snapshotTokens);
  read(options, "deterministic", o.deterministic);
  std::string logits = "none";
  read(options, "logits", logits);
  o.logits = logitsOf(logits);
  return o;
}

static Request requestOf(const nb::dict &fields) {
  Request r;
  read(fields, "prompt", r.prompt);
  read(fields, "temperature", r.sampling.temperature);
  read(fields, "top_k", r.sampling.topK);
  read(fields, "top_p", r.sampling.topP);
  read(fields, "min_p", r.sampling.minP);
  read(fields, "seed", r.sampling.seed);
  read(fields, "max_tokens", r.maxTokens);
  read(fields, "min_tokens", r.minTokens);
  read(fields, "stop_tokens", r.stopTokens);
  read(fields, "ignore_eos", r.ignoreEos);
  read(fields, "priority", r.priority);
  read(fields, "group", r.group);
  read(fields, "cache_salt", r.cacheSalt);
  read(fields, "k", r.k);
  read(fields, "outputs", r.outputs);
  read(fields, "sees_drafts", r.seesDrafts);
  if (fields.contains("inputs"))
    for (auto [name, tensor] : nb::cast<nb::dict>(fields["inputs"]))
      r.inputs.push_back(
          {nb::cast<std::string>(name), toTensor(nb::cast<nb::tuple>(tensor))});
  return r;
}

static nb::object seenOf(const SequenceUpdate &update) {
  if (!update.seen)
    return nb::none();
  return nb::make_tuple(update.seen->tokens, update.seen->parents);
}

/// Returns (id, tokens, finish, stop token, error, drafted, outputs, seen).
static nb::tuple toPython(SequenceUpdate update) {
  nb::object stop = update.stopToken ? nb::object(nb::int_(*update.stopToken))
                                     : nb::object(nb::none());
  nb::object error =
      update.error.isOk() ? nb::object(nb::none()) : exceptionOf(update.error);
  return nb::make_tuple(
      update.id, update.tokens, python::toPython(update.finish), stop, error,
      update.drafted, python::toPython(std::move(update.outputs)),
      seenOf(update));
}

/// Waits for an update, or for the end of a sequence. An exception of a signal
/// handler ends the wait.
static nb::tuple await(const SessionHandle &handle, SequenceId id,
                       bool isWhole) {
  Signals signals;
  auto update = release(handle, [&](SharedSession &session) {
    auto haveRaised = [&] { return signals.haveRaised(); };
    return isWhole ? session.finish(id, haveRaised)
                   : session.next(id, haveRaised);
  });
  signals.rethrow();
  return toPython(take(std::move(update)));
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
  nb::gil_scoped_release release;
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

static SequenceId add(const SessionHandle &handle, const nb::dict &fields,
                      bool hasStream) {
  Request request = requestOf(fields);
  return take(release(handle, [&](SharedSession &session) {
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
      .def("await_", &await, "id"_a, "is_whole"_a)
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
  d["threads"] = o.threads;
  d["kv_pages"] = o.kvPages;
  d["max_batch"] = o.maxSlots;
  d["prefill_chunk"] = o.prefillChunk;
  d["rounds_per_launch"] = o.roundsPerLaunch;
  d["prefix_cache"] = o.prefixCache;
  return d;
}

void python::bindSession(nb::module_ &module) {
  using Handle = const SessionHandle &;
  nb::class_<SessionHandle> session(module, "Session");
  module.def("open_session", &openSession, "model"_a, "options"_a);
  bindSequences(session);
  session
      .def("close", &SessionHandle::close,
           nb::call_guard<nb::gil_scoped_release>())
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
          "id"_a)
      .def("run_function", &runFunction, "name"_a, "inputs"_a);
}
