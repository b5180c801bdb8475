"use strict";

// All parts of the page share one script, in which functions may be called
// before the part that has them.

const $ = (id) => document.getElementById(id);

// Returns a new element with a text and a class, both optional.
function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined)
    made.textContent = text;
  if (kind)
    made.className = kind;
  return made;
}
