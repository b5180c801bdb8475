// Answers, settings, the server's state, and the start of the page.

// Tokens of an answer without a chat template, if the settings name no number:
// text without turns has no natural end.
const kPlainTokens = 256;

let server = {hasChat: true, maxK: 0, ks: [], context: 0, slots: 0};
let running = null;       // The answer that is written: turn, phase, controller.
let showTimer = 0;        // Shows an event after which none follows soon.
let isLost = false;       // The server did not answer the last request.

function say(text, isBad = false) {
  $("state").textContent = text;
  $("state").className = isBad ? "bad" : "";
}

// Answers.

function setPhase(phase) {
  if (!running || running.phase === phase)
    return;
  running.phase = phase;
  say(phase.toLowerCase());
  if (running.chat === chat)
    updateTurn(running.turn, phase);
}

function take(choice) {
  const {turn} = running;
  const delta = choice.delta || {content: choice.text};
  turn.thought += delta.reasoning_content || "";
  turn.content += delta.content || "";
  running.eventAt = performance.now();
  addTokens(turn.stats, choice, running.eventAt - running.began);
  if (turn.stats.tokens)
    setPhase("Writing");
  const end = choice.finish_reason;
  if (end)
    turn.end = end === "abort" ? "the server ended the answer." : end;
}

// Shows the answer so far.
function showRunning() {
  clearTimeout(showTimer);
  showTimer = 0;
  if (running?.chat === chat) {
    updateTurn(running.turn, running.phase);
    showStats(running.turn.stats);
    scrollToEnd();
  }
}

// Shows and stores the answer so far, and lets the browser handle input.
async function breathe() {
  showRunning();
  if (performance.now() - running.keptAt > 2000) {
    keepChat(running.chat);
    running.keptAt = performance.now();
  }
  await new Promise((done) => setTimeout(done));
}

// Reads the events of a reply until `signal` aborts. A stream that ends without
// [DONE] is lost.
async function readAnswer(reply, signal) {
  let breathed = performance.now(), isDone = false;
  for await (const event of eventsOf(reply)) {
    if (!event) {
      isDone = true;
      continue;
    }
    if (event.error)
      throw new ServerError(event.error.message);
    for (const choice of event.choices)
      take(choice);
    if (event.usage)
      running.turn.stats.usage = event.usage;
    // Events of a fast model would keep the loop busy.
    if (performance.now() - breathed > 50) {
      await breathe();
      // After a stop, events that the browser has already received are dropped.
      signal.throwIfAborted();
      breathed = performance.now();
    } else if (!showTimer) {
      showTimer = setTimeout(showRunning, 60);
    }
  }
  if (!isDone && !running.turn.end)
    running.turn.end = "lost";
}

function messageOf(error) {
  const {n_prompt_tokens: used, n_ctx: most} = error.detail || {};
  if (used >= most)
    return `This conversation has ${used} tokens, and the model's context ` +
           `${most}. Shorten a message, or begin a new conversation.`;
  if (error.name === "TypeError")
    return "The server does not answer.";
  return error.message;
}

// Runs the answer of the last turn of the conversation, a user's. If there is no
// answer, the turns become `former`, and `message` returns to the input.
async function answer(former, message) {
  const asked = chat;
  const turn = {role: "assistant", content: "", thought: "", end: "",
                stats: emptyStats()};
  turn.stats.maxK = server.maxK;
  turn.stats.context = server.context;
  running = {chat, turn, controller: new AbortController(), phase: "",
             began: performance.now(), eventAt: performance.now(),
             keptAt: performance.now()};
  let error = null;
  chat.turns.push(turn);
  addTurn(turn);
  showStats(turn.stats);
  setRunning(true);
  setPhase("Sending");
  isAtEnd = true;
  scrollToEnd();
  try {
    const {signal} = running.controller;
    const {reply, limit} = await startAnswer(
        asked, signal, (wait) => setPhase(
            `Waiting: the server's queue is full, next try in ${wait} s`));
    turn.stats.limit = limit;
    setPhase("Reading the prompt");
    await readAnswer(reply, signal);
  } catch (thrown) {
    error = thrown;
    turn.end = thrown.name === "AbortError" ? "stopped" : messageOf(thrown);
  }
  endAnswer(asked, turn, error, former, message);
}

function endAnswer(asked, turn, error, former, message) {
  running = null;
  const isStopped = turn.end === "stopped";
  const isEmpty = !turn.content && !turn.thought;
  if (error && isEmpty) {
    // Templates need alternating turns, so the message returns to the input.
    asked.turns = former;
    if (asked !== chat)
      asked.draft = asked.draft || message;
    else if ($("input").value === "")
      $("input").value = asked.draft = message;
  }
  if (!asked.isDeleted)
    keepChat(asked);
  if (asked === chat) {
    if (error && isEmpty)
      showTurns();
    updateTurn(turn);
    showStats(isEmpty && error ? undefined : turn.stats);
    if (error && !isStopped)
      showError(messageOf(error));
    scrollToEnd();
  }
  showChats();
  setRunning(false);
  if (error && !isStopped)
    say("failed", true);
  else
    say(isStopped ? "stopped" : "ready");
}

// Changes what may be pressed: Send and Stop share one place.
function setRunning(isRunning) {
  const hadFocus = document.activeElement === $("send") ||
                   document.activeElement === $("stop");
  document.body.classList.toggle("is-running", isRunning);
  $("send").hidden = isRunning;
  $("stop").hidden = !isRunning;
  fitInput();
  if (hadFocus || document.activeElement === document.body)
    $("input").focus();
}

function areSettingsValid() {
  if ($("settings").checkValidity())
    return true;
  openDrawer("side");
  $("settings").reportValidity();
  return false;
}

function submit() {
  const text = $("input").value;
  if (running || text.trim() === "" || !areSettingsValid())
    return;
  const former = [...chat.turns];
  $("input").value = chat.draft = "";
  fitInput();
  removeErrors();
  const turn = {role: "user", content: text, thought: "", end: "",
                stats: emptyStats()};
  chat.turns.push(turn);
  addTurn(turn);
  showEmpty();
  keepChat(chat);
  showChats();
  answer(former, text);
}

// Answers the message at an index again, with another text if one is given.
// The turns after it go.
function askAgain(index, text) {
  if (index < 0 || !areSettingsValid())
    return;
  const former = [...chat.turns];
  const turn = {...former[index], content: text ?? former[index].content};
  chat.turns = [...former.slice(0, index), turn];
  showTurns();
  answer(former, text ?? "");
}

function stop() {
  if (running)
    running.controller.abort();
}

// Input.

function fitInput() {
  const input = $("input");
  input.style.height = "auto";
  const height = Math.min(input.scrollHeight + 2, innerHeight * 0.4);
  input.style.height = `${height}px`;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
$("input").addEventListener("input", fitInput);
$("input").addEventListener("keydown", (event) => {
  if (isSendKey(event)) {
    event.preventDefault();
    submit();
  } else if (event.key === "ArrowUp" && $("input").value === "" && !running) {
    const last = chat.turns.findLast((turn) => turn.role === "user");
    if (last) {
      event.preventDefault();
      editTurn(last);
    }
  }
});
$("stop").addEventListener("click", stop);
$("new").addEventListener("click", () => {
  openChat(newChat());
  closeDrawers();
  $("input").focus();
});
addEventListener("pagehide", () => {
  chat.draft = $("input").value;
  storeChat(chat);
  if (running && !running.chat.isDeleted)
    storeChat(running.chat);
});

// Drawers: on a narrow page the lists at both sides open above the
// conversation.

const narrow = matchMedia("(max-width: 68rem)");
narrow.addEventListener("change", closeDrawers);

function openDrawer(name) {
  closeDrawers();
  if (!narrow.matches)
    return;
  document.body.classList.add(`shows-${name}`);
  $(`open-${name}`).setAttribute("aria-expanded", "true");
  document.querySelector("main").inert = true;
  $(name).querySelector("button, input, select")?.focus();
}

// Returns whether one was open.
function closeDrawers() {
  for (const name of ["list", "side"]) {
    if (!document.body.classList.contains(`shows-${name}`))
      continue;
    document.body.classList.remove(`shows-${name}`);
    document.querySelector("main").inert = false;
    $(`open-${name}`).setAttribute("aria-expanded", "false");
    $(`open-${name}`).focus();
    return true;
  }
  return false;
}

for (const name of ["list", "side"]) {
  $(`open-${name}`).addEventListener("click", () => openDrawer(name));
  $(`close-${name}`).addEventListener("click", closeDrawers);
}
$("shade").addEventListener("click", closeDrawers);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !closeDrawers())
    stop();
});

// Settings.

const kSettings = ["max_tokens", "temperature", "top_p", "top_k", "min_p",
                   "seed", "k", "theme", "markdown"];

function showSettings() {
  for (const name of kSettings) {
    const input = $(name), value = settings[name] || "";
    if (input.tagName === "SELECT")
      input.value = [...input.options].some((one) => one.value === value) ?
          value : input.options[0]?.value ?? "";
    else
      input.value = value;
  }
  if (settings.theme)
    document.documentElement.dataset.theme = settings.theme;
  else
    delete document.documentElement.dataset.theme;
}

function takeSetting(name) {
  settings[name] = $(name).value;
  storeSettings();
  showSettings();
  if (name === "markdown" && !running)
    showTurns();
}

for (const name of kSettings)
  $(name).addEventListener("change", () => takeSetting(name));
$("settings").addEventListener("submit", (event) => event.preventDefault());
$("reset").addEventListener("click", () => {
  settings = {system: settings.system || ""};
  storeSettings();
  showSettings();
  showTurns();
});
// The key lasts as long as the tab.
$("key").addEventListener("change", () => {
  try {
    sessionStorage.setItem(kPrefix + "key", $("key").value);
  } catch (error) {
    // Without storage the key is entered again after a reload.
  }
  connect();
});

// The server.

// Says what an answer without tokens waits for.
function showWaiting(active, waiting) {
  const isSilent = running && running.phase !== "Sending" &&
                   performance.now() - running.eventAt > 1500;
  if (!isSilent || running.phase.startsWith("Waiting: "))
    return;
  if (waiting > 0 && active >= server.slots)
    setPhase(`Waiting for a slot: ${active} of ${server.slots} are in use, ` +
             `${waiting} waiting`);
  else
    setPhase(running.turn.stats.tokens ? "Writing" : "Reading the prompt");
}

async function poll() {
  if (!document.hidden) {
    try {
      const text = await (await get("/metrics")).text();
      const active = metric(text, "vllm:num_requests_running");
      const waiting = metric(text, "vllm:num_requests_waiting");
      $("pages").textContent =
          `${(100 * metric(text, "vllm:kv_cache_usage_perc")).toFixed(1)} %`;
      $("sequences").textContent = `${active} / ${waiting}`;
      showWaiting(active, waiting);
      // A restarted server may have another model.
      if (isLost) {
        isLost = false;
        await connect();
      }
    } catch (error) {
      isLost = true;
      say(messageOf(error), true);
    }
  }
  setTimeout(poll, 1000);
}

function showDefaults(defaults) {
  for (const [name, value] of Object.entries(defaults))
    if ($(name)?.tagName === "INPUT")
      $(name).placeholder = Number(value.toFixed(3));
  $("max_tokens").placeholder = server.hasChat ? "no limit" : kPlainTokens;
  $("seed").placeholder = "random";
}

async function connect() {
  try {
    const props = await (await get("/props")).json();
    const maxK = props.max_k, hadChat = server.hasChat;
    const ks = [...Array(maxK + 1).keys()].map(String).concat("auto");
    server = {hasChat: "chat_template" in props, maxK, ks,
              slots: props.total_slots,
              context: props.default_generation_settings.n_ctx};
    $("model").textContent = document.title = props.model_alias;
    $("facts").textContent = `${server.context} tokens of context · up to ` +
        `${maxK} ${maxK === 1 ? "draft" : "drafts"} per round`;
    $("no-template").hidden = server.hasChat;
    $("k").replaceChildren(new Option("default", ""),
                           ...ks.map((k) => new Option(k, k)));
    showDefaults(props.default_generation_settings.params);
    showSettings();
    showSystem();
    if (hadChat !== server.hasChat)
      showTurns();
    if (!running)
      say("ready");
  } catch (error) {
    isLost = true;
    say(messageOf(error), true);
  }
}

function start() {
  try {
    $("key").value = sessionStorage.getItem(kPrefix + "key") || "";
  } catch (error) {
    // No storage, as above.
  }
  loadSettings();
  showSettings();
  chats = storedChats();
  const current = storedCurrent();
  openChat(chats.find((one) => one.id === current) || chats[0] || newChat());
  $("input").focus();
  connect().then(poll);
}

start();
