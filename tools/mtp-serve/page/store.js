// Conversations and settings in the browser's storage. Each conversation has a
// key of its own, so that two tabs write different ones.

const kPrefix = "mtp-serve/";
const kChats = kPrefix + "chat/";
const kTitleLength = 60;

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Returns the value of a key, or null if it is missing or not JSON.
function readKey(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch (error) {
    return null;
  }
}

// Stores a value, or removes the key if the value is null. Returns false if the
// browser has no storage or no room.
function writeKey(key, value) {
  try {
    if (value === null)
      localStorage.removeItem(key);
    else
      localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch (error) {
    return false;
  }
}

function textOr(value, otherwise) {
  return typeof value === "string" ? value : otherwise;
}

// Returns a turn with fields of the right types, or null. Storage may come from
// another version of the page.
function checkedTurn(turn) {
  if (!turn || !["user", "assistant"].includes(turn.role) ||
      typeof turn.content !== "string")
    return null;
  const stats = emptyStats();
  for (const [name, value] of Object.entries(turn.stats || {}))
    if (typeof value === typeof stats[name] &&
        Array.isArray(value) === Array.isArray(stats[name]))
      stats[name] = value;
  return {role: turn.role, content: turn.content,
          thought: textOr(turn.thought, ""), end: textOr(turn.end, ""), stats};
}

// `id` is also what a proxy uses to send one conversation to one server.
function checkedChat(id, chat) {
  const turns = Array.isArray(chat?.turns) ? chat.turns.map(checkedTurn) : [];
  return {id, title: textOr(chat?.title, ""), isNamed: chat?.isNamed === true,
          changed: Number(chat?.changed) || 0,
          system: textOr(chat?.system, ""), draft: textOr(chat?.draft, ""),
          turns: turns.filter(Boolean)};
}

// Returns all stored conversations, the last changed one first.
function storedChats() {
  const chats = [];
  try {
    for (const key of Object.keys(localStorage))
      if (key.startsWith(kChats))
        chats.push(checkedChat(key.slice(kChats.length), readKey(key)));
  } catch (error) {
    return [];
  }
  return chats.sort((a, b) => b.changed - a.changed);
}

function titleOf(chat) {
  if (chat.isNamed)
    return chat.title;
  const text = chat.turns.find((turn) => turn.role === "user")?.content || "";
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > kTitleLength ? line.slice(0, kTitleLength) + "…" :
         line || "New conversation";
}

function isEmptyChat(chat) {
  return !chat.turns.length && !chat.draft && !chat.isNamed &&
         chat.system === (settings.system || "");
}

// Stores a conversation, or forgets it if it is empty. Returns false if the
// storage has no room.
function storeChat(chat) {
  return writeKey(kChats + chat.id, isEmptyChat(chat) ? null : chat);
}

// The current conversation of this tab, which a reload opens again.
function storeCurrent(id) {
  try {
    sessionStorage.setItem(kPrefix + "current", id);
  } catch (error) {
    // Without storage a reload opens the last changed conversation.
  }
}

function storedCurrent() {
  try {
    return sessionStorage.getItem(kPrefix + "current");
  } catch (error) {
    return null;
  }
}

// Settings by the id of their input, as texts. An empty one is the default of
// the model or the server. `system` begins new conversations.
let settings = {};

function loadSettings() {
  const stored = readKey(kPrefix + "settings");
  settings = {};
  for (const [name, value] of Object.entries(stored || {}))
    if (typeof value === "string")
      settings[name] = value;
}

function storeSettings() {
  writeKey(kPrefix + "settings", settings);
}
