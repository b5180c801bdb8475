// Requests to the server.

// An error that the server reported. `code` and `detail` are its fields.
class ServerError extends Error {
  constructor(message, status = 0, detail = {}) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

function headersOf(chat) {
  const all = {"Content-Type": "application/json"};
  if (chat)
    all["X-Prefix-Affinity"] = chat.id;
  if ($("key").value)
    all.Authorization = "Bearer " + $("key").value;
  return all;
}

async function failureOf(reply) {
  const wait = Number(reply.headers.get("Retry-After")) || 0;
  try {
    const {error} = await reply.json();
    return new ServerError(error.message, reply.status, {...error, wait});
  } catch (error) {
    return new ServerError(`The server answered with status ${reply.status}.`,
                           reply.status, {wait});
  }
}

async function get(path) {
  const reply = await fetch(path, {headers: headersOf(null)});
  if (!reply.ok)
    throw await failureOf(reply);
  return reply;
}

// Returns the value of a metric in Prometheus's text form, or 0.
function metric(text, name) {
  const form = new RegExp(`^${name}\\{[^}]*\\} ([0-9.e+-]+)$`, "m");
  const found = text.match(form);
  return found ? Number(found[1]) : 0;
}

// Yields the parsed events of a stream, and undefined for [DONE]. Bytes that
// are not UTF-8 become U+FFFD.
async function* eventsOf(reply) {
  const decoder = new TextDecoderStream();
  const reader = reply.body.pipeThrough(decoder).getReader();
  for (let rest = "";;) {
    const {value, done} = await reader.read();
    if (done)
      return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const data = part.replace(/^data: ?/, "");
      if (data === "[DONE]")
        yield undefined;
      else if (data !== part)
        yield JSON.parse(data);
    }
  }
}

function numberOf(name) {
  const value = (settings[name] || "").trim();
  return value === "" ? undefined : Number(value);
}

// Returns path and body of the request for the answer that runs.
function requestOf(chat) {
  // A half of a pair of UTF-16 would not be JSON for the server.
  const turns = chat.turns.filter((turn) => turn !== running.turn)
                    .map(({role, content}) =>
                             ({role, content: content.toWellFormed()}));
  const body = {stream: true, stream_options: {include_usage: true},
                return_round_tokens: true};
  if (server.ks.includes(settings.k))
    body.k = settings.k === "auto" ? "auto" : Number(settings.k);
  for (const name of ["temperature", "top_p", "top_k", "min_p", "max_tokens",
                      "seed"])
    if (numberOf(name) !== undefined)
      body[name] = numberOf(name);
  if (!server.hasChat) {
    const prompt = turns.map((turn) => turn.content).join("");
    return ["/v1/completions", {max_tokens: kPlainTokens, ...body, prompt}];
  }
  const system = chat.system.toWellFormed();
  const head = system.trim() ? [{role: "system", content: system}] : [];
  return ["/v1/chat/completions", {...body, messages: [...head, ...turns]}];
}

// Waits, and throws an AbortError if the signal aborts first.
function pause(milliseconds, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      fail(signal.reason);
    });
  });
}

// Returns the body with the tokens that the context has left, or null if the
// error is another one, or if the prompt alone does not fit.
function clamped(error, body) {
  const {code, n_prompt_tokens: used, n_ctx: most} = error.detail;
  if (code !== "context_length_exceeded" || !(used < most) ||
      !(body.max_tokens > most - used))
    return null;
  return {...body, max_tokens: most - used};
}

// Starts an answer, and returns the reply and the limit of its tokens. A limit
// beyond the context is clamped. A full queue is asked again.
async function startAnswer(chat, signal, onWait) {
  let [path, body] = requestOf(chat);
  for (;;) {
    const reply = await fetch(path, {
      method: "POST", headers: headersOf(chat), body: JSON.stringify(body),
      signal
    });
    if (reply.ok)
      return {reply, limit: body.max_tokens || 0};
    const error = await failureOf(reply);
    const smaller = clamped(error, body);
    if (smaller) {
      body = smaller;
    } else if (error.status === 429 && error.detail.wait > 0) {
      onWait(error.detail.wait);
      await pause(1000 * Math.min(error.detail.wait, 30), signal);
    } else {
      throw error;
    }
  }
}
