// The turns of the current conversation on the page.

let views = new Map();    // The nodes of each turn that is shown.
let isAtEnd = true;       // The user reads the end of the conversation.

function button(text, kind, label) {
  const made = element("button", text, kind);
  made.type = "button";
  if (label)
    made.setAttribute("aria-label", label);
  return made;
}

// Returns why an answer is shorter than the model would make it, or "".
function noticeOf(turn) {
  const {stats} = turn;
  switch (turn.end) {
  case "stop":
    return turn.content || turn.thought ? "" : "The answer is empty.";
  case "length":
    if (stats.context && promptTokensOf(stats) + stats.tokens >= stats.context)
      return `Cut: the context of ${stats.context} tokens is full.`;
    return `Cut at the limit of ${stats.limit || stats.tokens} tokens. ` +
           "“Max tokens” in the settings raises it.";
  case "stopped":
    return "Stopped.";
  case "lost":
    return "Cut: the connection ended before the answer was complete.";
  case "":
    return "Cut: the page was closed while the answer was written.";
  }
  return "Cut: " + turn.end;
}

function promptTokensOf(stats) {
  return stats.usage ? stats.usage.prompt_tokens : 0;
}

// Shows what a turn has now. `phase` is the state of an answer that runs.
function updateTurn(turn, phase = "") {
  const view = views.get(turn);
  if (!view)
    return;
  const isPlain = turn.role === "user" || settings.markdown === "off" ||
                  !server.hasChat;
  view.text.classList.toggle("plain", isPlain);
  if (isPlain) {
    view.text.sources = null;
    view.text.textContent = turn.content;
  } else {
    if (!view.text.sources)
      view.text.replaceChildren();
    renderMarkdown(view.text, turn.content);
  }
  if (turn.role === "user")
    return;
  showThought(view, turn, phase !== "");
  view.box.classList.toggle("running", phase !== "");
  view.box.setAttribute("aria-busy", String(phase !== ""));
  view.phase.textContent = turn.content && phase === "Writing" ? "" : phase;
  view.notice.textContent = phase ? "" : noticeOf(turn);
  view.stats.textContent = statsLine(turn.stats);
}

// Shows the reasoning, which is open until the answer itself begins.
function showThought(view, turn, isRunning) {
  view.thoughtBox.hidden = !turn.thought;
  if (view.thought.textContent !== turn.thought)
    view.thought.textContent = turn.thought;
  const isOpen = isRunning && turn.thought !== "" && turn.content === "";
  if (view.wasOpen !== isOpen)
    view.thoughtBox.open = view.wasOpen = isOpen;
}

function addAnswerParts(view) {
  view.thoughtBox = view.box.appendChild(element("details"));
  view.thoughtBox.append(element("summary", "Reasoning"));
  view.thought = view.thoughtBox.appendChild(element("div", "", "thought"));
  view.thoughtBox.hidden = true;
}

function addTurn(turn) {
  const isUser = turn.role === "user";
  const box = element("article", undefined, "turn " + turn.role);
  const view = {turn, box};
  box.append(element("h2", isUser ? "You" : "Answer"));
  if (!isUser)
    addAnswerParts(view);
  view.text = box.appendChild(element("div", "", "text"));
  view.text.dir = "auto";
  const foot = element("div", undefined, "foot");
  if (!isUser) {
    view.phase = box.appendChild(element("p", "", "phase"));
    view.notice = box.appendChild(element("p", "", "notice"));
    view.stats = foot.appendChild(element("span", "", "stats"));
  }
  const actions = foot.appendChild(element("span", undefined, "actions"));
  actions.append(button("Copy", "quiet copy-turn",
                        isUser ? "Copy message" : "Copy answer"));
  actions.append(isUser ? button("Edit", "quiet edit", "Edit message") :
                          button("Regenerate", "quiet again"));
  box.append(foot);
  $("turns").append(box);
  views.set(turn, view);
  updateTurn(turn);
  return view;
}

// Shows the turns of the current conversation from the beginning.
function showTurns() {
  views = new Map();
  $("turns").replaceChildren();
  for (const turn of chat.turns)
    addTurn(turn);
  if (running && running.chat === chat)
    updateTurn(running.turn, running.phase);
  showEmpty();
  const last = chat.turns.findLast((turn) => turn.role === "assistant");
  showStats(last?.stats);
  isAtEnd = true;
  scrollToEnd();
}

function showEmpty() {
  $("empty").hidden = chat.turns.length > 0;
}

function showError(message) {
  const box = element("div", undefined, "turn bad");
  box.setAttribute("role", "alert");
  box.append(element("p", message));
  $("turns").append(box);
  scrollToEnd();
}

function removeErrors() {
  for (const box of document.querySelectorAll(".turn.bad"))
    box.remove();
}

function scrollToEnd() {
  const log = $("log");
  if (isAtEnd)
    log.scrollTop = log.scrollHeight;
  showLatest();
}

function showLatest() {
  const log = $("log");
  $("latest").hidden =
      log.scrollHeight - log.scrollTop - log.clientHeight < 120;
}

$("log").addEventListener("scroll", () => {
  const log = $("log");
  isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  showLatest();
});
$("latest").addEventListener("click", () => {
  isAtEnd = true;
  scrollToEnd();
  $("input").focus();
});

// Copying. The clipboard's API needs HTTPS or loopback; a selection does not.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    const area = document.body.appendChild(element("textarea"));
    area.value = text;
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

async function copyFrom(source, text) {
  const isDone = await copyText(text);
  source.focus();
  source.textContent = isDone ? "Copied" : "Not copied";
  setTimeout(() => source.textContent = "Copy", 1500);
}

// Editing. A changed message replaces all turns after it.
function editTurn(turn) {
  const view = views.get(turn);
  if (view.editor || running)
    return;
  const editor = view.editor = element("form", undefined, "editor");
  const area = editor.appendChild(element("textarea"));
  area.value = turn.content;
  area.setAttribute("aria-label", "Message");
  area.rows = Math.min(12, turn.content.split("\n").length + 1);
  const row = editor.appendChild(element("div", undefined, "row"));
  const send = row.appendChild(element("button", "Send"));
  send.type = "submit";
  const cancel = row.appendChild(button("Cancel", "plain"));
  const close = () => {
    editor.remove();
    view.editor = null;
    view.text.hidden = false;
    view.box.querySelector(".edit").focus();
  };
  cancel.addEventListener("click", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (isSendKey(event)) {
      event.preventDefault();
      editor.requestSubmit();
    }
  });
  editor.addEventListener("submit", (event) => {
    event.preventDefault();
    if (area.value.trim() && !running)
      askAgain(chat.turns.indexOf(turn), area.value);
  });
  view.text.hidden = true;
  view.text.after(editor);
  area.focus();
}

// Enter sends; on a touch screen it breaks the line.
function isSendKey(event) {
  return event.key === "Enter" && !event.shiftKey && !event.isComposing &&
         !matchMedia("(pointer: coarse)").matches;
}

$("turns").addEventListener("click", (event) => {
  const clicked = event.target.closest("button");
  const box = event.target.closest(".turn");
  const turn = [...views.keys()].find((key) => views.get(key).box === box);
  if (!clicked || !turn)
    return;
  if (clicked.matches(".copy"))
    copyFrom(clicked,
             clicked.closest(".code").querySelector("pre").textContent);
  else if (clicked.matches(".copy-turn"))
    copyFrom(clicked, turn.content);
  else if (clicked.matches(".edit"))
    editTurn(turn);
  else if (clicked.matches(".again") && !running)
    askAgain(chat.turns.indexOf(turn) - 1);
});
