"""Text, functions and statistics of an artifact, through the runtime's C interface
(runtime/include/mtp/mtp.h) and ctypes. Only functions need numpy, whose arrays they take and
give."""

import ctypes as c
import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
F32, I32 = 0, 7  # mtp_element
FAILED = 4  # mtp_finish


class Tensor(c.Structure):
    _fields_ = [
        ("element", c.c_int32),
        ("rank", c.c_size_t),
        ("shape", c.POINTER(c.c_uint64)),
        ("data", c.c_void_p),
        ("bytes", c.c_size_t),
    ]


class Options(c.Structure):
    """The first fields of mtp_session_options, and room for the others."""

    _fields_ = [
        ("size", c.c_size_t),
        ("k", c.c_int32),
        ("threads", c.c_uint32),
        ("kv_pages", c.c_uint32),
        ("max_slots", c.c_uint32),
        ("prefill_chunk", c.c_uint32),
        ("chunks_per_step", c.c_uint32),
        ("pin_threads", c.c_int),
        ("prefix_cache", c.c_int),
        ("others", c.c_char * 256),
    ]


class Request(c.Structure):
    """The first fields of mtp_request, and room for the others."""

    _fields_ = [
        ("size", c.c_size_t),
        ("prompt", c.POINTER(c.c_int32)),
        ("prompt_count", c.c_size_t),
        ("max_tokens", c.c_uint32),
        ("temperature", c.c_float),
        ("top_k", c.c_uint32),
        ("top_p", c.c_float),
        ("min_p", c.c_float),
        ("seed", c.c_uint64),
        ("stop_tokens", c.POINTER(c.c_int32)),
        ("stop_count", c.c_size_t),
        ("ignore_eos", c.c_int),
        ("others", c.c_char * 256),
    ]


class Update(c.Structure):
    """The first fields of mtp_update. The session makes it, so it may be longer."""

    _fields_ = [
        ("size", c.c_size_t),
        ("id", c.c_uint64),
        ("tokens", c.POINTER(c.c_int32)),
        ("count", c.c_size_t),
        ("finish", c.c_int),
        ("error", c.c_char_p),
    ]


class Statistics(c.Structure):
    """The first fields of mtp_statistics, and room for the others."""

    _fields_ = [
        ("size", c.c_size_t),
        ("rounds", c.c_uint64),
        ("slot_rounds", c.c_uint64),
        ("round_tokens", c.c_uint64),
        ("output_tokens", c.c_uint64),
        ("prefill_tokens", c.c_uint64),
        ("cached_tokens", c.c_uint64),
        ("preemptions", c.c_uint64),
        ("prefill_seconds", c.c_double),
        ("decode_seconds", c.c_double),
        ("decode_tokens", c.c_uint64),
        ("others", c.c_char * 256),
    ]


CALLBACK = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Update))


def _numbers(values):
    return (c.c_int32 * len(values))(*map(int, values))


class Session:
    """A session of an artifact. `library` is libmtp_runtime.so; without it, the build's. `others`
    are further fields of Options."""

    def __init__(self, artifact, threads=1, slots=0, k=-1, library=None, **others):
        build = os.environ.get("MTP_BUILD_DIR", os.path.join(ROOT, "build"))
        self.lib = c.CDLL(library or os.path.join(build, "runtime", "api", "libmtp_runtime.so"))
        self.lib.mtp_message.restype = c.c_char_p
        self.lib.mtp_results_count.restype = c.c_size_t
        self.model, self.session = c.c_void_p(), c.c_void_p()
        self._check(self.lib.mtp_model_load(artifact.encode(), c.byref(self.model)))
        options = Options()
        self.lib.mtp_session_options_init(c.byref(options))
        options.threads, options.max_slots, options.k = threads, slots, k
        for name, value in others.items():
            setattr(options, name, value)
        made = self.lib.mtp_session_create(self.model, c.byref(options), c.byref(self.session))
        self._check(made)
        self.kept = CALLBACK(self._take)
        self.output = {}

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.mtp_message().decode())

    def _take(self, _, update):
        u = update.contents
        if u.finish == FAILED:
            raise RuntimeError(u.error.decode())
        self.output[u.id].extend(u.tokens[: u.count])

    def encode(self, text):
        """Returns the ids of text in which names of special tokens are these tokens."""
        data, count = text.encode(), c.c_size_t()
        ids = _numbers([0] * (len(data) + 1))
        self._check(
            self.lib.mtp_model_encode(
                *(self.model, data, c.c_size_t(len(data)), 0, 1),
                *(ids, c.c_size_t(len(ids)), c.byref(count)),
            )
        )
        return ids[: count.value]

    def decode(self, ids):
        ids, length = _numbers(ids), c.c_size_t()
        room = c.create_string_buffer(64 * len(ids) + 1)
        self._check(
            self.lib.mtp_model_decode(
                *(self.model, ids, c.c_size_t(len(ids))),
                *(room, c.c_size_t(len(room)), c.byref(length)),
            )
        )
        return room.raw[: length.value].decode()

    def add(self, prompt, max_tokens, temperature=0.0, top_p=1.0, seed=0, ignore_eos=False):
        """Queues a sequence and returns its number."""
        ids = _numbers(prompt)
        r = Request()
        self.lib.mtp_request_init(c.byref(r))
        r.prompt, r.prompt_count, r.max_tokens = ids, len(ids), max_tokens
        r.temperature, r.top_p, r.seed, r.ignore_eos = temperature, top_p, seed, ignore_eos
        number = c.c_uint64()
        self._check(self.lib.mtp_session_add(self.session, c.byref(r), c.byref(number)))
        self.output[number.value] = []
        return number.value

    def step(self):
        """Runs a step. Returns whether sequences wait or run after it."""
        self._check(self.lib.mtp_session_step(self.session, self.kept, None))
        return not self.lib.mtp_session_idle(self.session)

    def pause(self, number):
        self._check(self.lib.mtp_session_pause(self.session, c.c_uint64(number)))

    def resume(self, number):
        self._check(self.lib.mtp_session_resume(self.session, c.c_uint64(number)))

    def run(self):
        """Runs all queued sequences to their ends, except paused ones. Returns the outputs by
        number."""
        while not self.lib.mtp_session_idle(self.session):
            self.step()
        done, self.output = self.output, {}
        return done

    def statistics(self, number=None):
        """Returns the counts of the session, or of a sequence that was not released."""
        s = Statistics()
        self.lib.mtp_statistics_init(c.byref(s))
        if number is None:
            self._check(self.lib.mtp_session_get_statistics(self.session, c.byref(s)))
        else:
            self._check(
                self.lib.mtp_session_get_sequence_statistics(
                    self.session, c.c_uint64(number), c.byref(s)
                )
            )
        return s

    def release(self, number):
        self._check(self.lib.mtp_session_release(self.session, c.c_uint64(number)))

    def call(self, name, *arrays):
        """Runs an exported function on i32 arrays. Returns its f32 results."""
        import numpy as np

        inputs, kept = (Tensor * len(arrays))(), []
        for t, a in zip(inputs, arrays):
            a = np.ascontiguousarray(a, np.int32)
            shape = np.array(a.shape, np.uint64)
            kept += [a, shape]
            t.element, t.rank = I32, a.ndim
            t.shape = shape.ctypes.data_as(c.POINTER(c.c_uint64))
            t.data, t.bytes = a.ctypes.data, a.nbytes
        results = c.c_void_p()
        self._check(
            self.lib.mtp_session_run_function(
                self.session, name.encode(), inputs, c.c_size_t(len(arrays)), c.byref(results)
            )
        )
        out = []
        for i in range(self.lib.mtp_results_count(results)):
            t = Tensor()
            self._check(self.lib.mtp_results_get(results, c.c_size_t(i), c.byref(t)))
            data = c.cast(t.data, c.POINTER(c.c_float))
            shape = tuple(t.shape[j] for j in range(t.rank))
            out.append(np.ctypeslib.as_array(data, shape).copy())
        self.lib.mtp_results_free(results)
        return out

    def close(self):
        self.lib.mtp_session_free(self.session)
        self.lib.mtp_model_free(self.model)
