// The list of conversations: open, rename, delete.

let chats = [];           // All conversations of this browser.
let chat = null;          // The one that is shown.
let isRenaming = false;

function newChat() {
  const made = checkedChat(newId(), {system: settings.system || ""});
  made.changed = Date.now();
  return made;
}

// Stores a conversation, and says so if it cannot be kept.
function keepChat(kept, isChange = true) {
  if (isChange)
    kept.changed = Date.now();
  if (!storeChat(kept))
    showToast("The browser's storage is full: this conversation will be lost " +
              "on a reload. Delete older conversations.");
}

function openChat(opened) {
  if (chat && chat !== opened) {
    chat.draft = $("input").value;
    keepChat(chat, false);
  }
  chat = opened;
  if (!chats.includes(chat))
    chats.unshift(chat);
  // Empty conversations are not kept in the list.
  chats = chats.filter((one) => one === chat || !isEmptyChat(one));
  storeCurrent(chat.id);
  $("input").value = chat.draft;
  fitInput();
  showSystem();
  showTurns();
  showChats();
}

function rowOf(one) {
  const row = element("li", undefined, one === chat ? "current" : "");
  const open = row.appendChild(button(titleOf(one), "open"));
  open.dir = "auto";
  open.title = titleOf(one);
  if (one === chat)
    open.setAttribute("aria-current", "true");
  const rename = row.appendChild(button("", "icon rename",
                                        `Rename “${titleOf(one)}”`));
  rename.append($("icon-rename").content.cloneNode(true));
  const remove = row.appendChild(button("", "icon delete",
                                        `Delete “${titleOf(one)}”`));
  remove.append($("icon-delete").content.cloneNode(true));
  open.addEventListener("click", () => {
    openChat(one);
    closeDrawers();
    $("input").focus();
  });
  rename.addEventListener("click", () => renameChat(one, row));
  remove.addEventListener("click", () => deleteChat(one));
  return row;
}

function showChats() {
  if (isRenaming)
    return;
  chats.sort((a, b) => b.changed - a.changed);
  $("chats").replaceChildren(...chats.map(rowOf));
}

function renameChat(one, row) {
  const input = element("input");
  isRenaming = true;
  input.value = titleOf(one);
  input.maxLength = 200;
  input.setAttribute("aria-label", "Name of the conversation");
  const finish = (isKept) => {
    // An input that is removed loses the focus, which calls this once more.
    if (!isRenaming)
      return;
    isRenaming = false;
    if (isKept && input.value.trim() && input.value.trim() !== titleOf(one)) {
      one.title = input.value.trim();
      one.isNamed = true;
      keepChat(one, false);
    }
    const at = chats.indexOf(one);
    showChats();
    $("chats").children[at]?.querySelector(".rename").focus();
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape")
      return;
    // The button that gets the focus would take the key, too.
    event.preventDefault();
    finish(event.key === "Enter");
  });
  input.addEventListener("blur", () => finish(true));
  row.replaceChildren(input);
  input.select();
  input.focus();
}

function deleteChat(one) {
  if (running && running.chat === one)
    running.controller.abort();
  const name = titleOf(one);
  one.isDeleted = true;
  writeKey(kChats + one.id, null);
  chats = chats.filter((other) => other !== one);
  if (chat === one) {
    chat = null;
    openChat(chats[0] || newChat());
  } else {
    showChats();
  }
  $("new").focus();
  showToast(`Deleted “${name}”.`, "Undo", () => {
    one.isDeleted = false;
    chats.push(one);
    keepChat(one, false);
    openChat(one);
  });
}

let toastTimer = 0;

// Shows a message for some seconds, with an action if it has one.
function showToast(text, action, act) {
  const box = $("toast");
  box.replaceChildren(element("span", text));
  if (action) {
    const made = box.appendChild(button(action, "plain"));
    made.addEventListener("click", () => {
      box.hidden = true;
      act();
    });
  }
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.hidden = true, 10000);
}

// Takes over what another tab has changed.
function takeOver(key) {
  const id = key.slice(kChats.length);
  const old = chats.find((one) => one.id === id), stored = readKey(key);
  if (running && running.chat === old)
    return;
  chats = chats.filter((one) => one !== old);
  if (stored)
    chats.push(checkedChat(id, stored));
  const isShown = old && old === chat;
  if (isShown && stored) {
    chat = chats.at(-1);
    showSystem();
    showTurns();
  } else if (isShown) {
    chats.push(old);
  }
  showChats();
}

addEventListener("storage", (event) => {
  if (event.key?.startsWith(kChats))
    takeOver(event.key);
});

// The system prompt of the conversation, above its turns.
function showSystem() {
  $("system").value = chat.system;
  $("system-default").checked = chat.system === (settings.system || "");
  $("system-box").hidden = !server.hasChat;
  showSystemSummary();
}

function showSystemSummary() {
  const line = chat.system.trim().replace(/\s+/g, " ");
  $("system-summary").textContent = line ? line.slice(0, 200) : "none";
}

function takeSystem() {
  chat.system = $("system").value;
  if ($("system-default").checked) {
    settings.system = chat.system;
    storeSettings();
  }
  showSystemSummary();
  keepChat(chat, false);
}

$("system").addEventListener("input", takeSystem);
$("system-default").addEventListener("change", takeSystem);
