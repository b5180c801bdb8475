// Blocks of Markdown: headings, paragraphs, lists, quotes, tables, code.

// Levels of quotes and lists; deeper ones are paragraphs.
const kMostDepth = 10;
const kHeading = /^ {0,3}(#{1,6})([ \t].*)?$/;
const kRule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const kFence = /^( *)(`{3,}|~{3,})(.*)$/;
const kFenceEnd = /^ *(`{3,}|~{3,})[ \t]*$/;
const kQuote = /^ {0,3}> ?/;
const kItem = /^( *)([-*+]|\d{1,9}[.)])(?:([ \t]+)(\S.*)?)?$/;
const kColumns = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

function isBlank(line) {
  return line.trim() === "";
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function fenceOf(line) {
  const match = kFence.exec(line);
  return match && !(match[2][0] === "`" && match[3].includes("`")) ? match :
                                                                     null;
}

function itemOf(line) {
  return kRule.test(line) ? null : kItem.exec(line);
}

// Returns the texts of a table's row; \| is a bar in a cell.
function cellsOf(line) {
  const parts = line.trim().replace(/^\|/, "").split("|");
  const row = [];
  let cell = "";
  for (const [i, part] of parts.entries()) {
    cell += part;
    if (part.endsWith("\\") && i + 1 < parts.length) {
      cell = cell.slice(0, -1) + "|";
      continue;
    }
    row.push(cell.trim());
    cell = "";
  }
  if (row.length > 1 && row.at(-1) === "")
    row.pop();
  return row;
}

function isTable(lines, at) {
  return at + 1 < lines.length && lines[at].includes("|") &&
         kColumns.test(lines[at + 1].trim()) &&
         cellsOf(lines[at]).length === cellsOf(lines[at + 1]).length;
}

// Returns whether a line begins a block even after a line of a paragraph.
function interrupts(line) {
  const item = itemOf(line);
  return kHeading.test(line) || fenceOf(line) || kQuote.test(line) ||
         kRule.test(line) || (item && item[4] && !/^\d/.test(item[2])) ||
         (item && item[4] && /^1[.)]/.test(item[2]));
}

// Each of these functions reads one block that begins at line `at`, and returns
// it with `end`, the line after it.

function readFence(lines, at) {
  const [, indent, mark, info] = fenceOf(lines[at]);
  const code = [];
  let end = at + 1;
  for (; end < lines.length; ++end) {
    const close = kFenceEnd.exec(lines[end]);
    if (close && close[1][0] === mark[0] && close[1].length >= mark.length)
      return {kind: "code", info: info.trim(), code, end: end + 1};
    const spaces = Math.min(indentOf(lines[end]), indent.length);
    code.push(lines[end].slice(spaces));
  }
  return {kind: "code", info: info.trim(), code, end};
}

function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && kQuote.test(lines[end]))
    ++end;
  const inner = lines.slice(at, end).map((line) => line.replace(kQuote, ""));
  return {kind: "quote", blocks: readBlocks(inner, depth + 1), end};
}

function readTable(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|"))
    ++end;
  const sides = cellsOf(lines[at + 1]).map((cell) => {
    const left = cell.startsWith(":"), right = cell.endsWith(":");
    return left && right ? "center" : right ? "right" : "";
  });
  return {kind: "table", sides, head: cellsOf(lines[at]),
          rows: lines.slice(at + 2, end).map(cellsOf), end};
}

// Returns the lines of one item, and the line after it. Lines that are indented
// by two columns belong to it, which is less than CommonMark asks of numbers.
function readItem(lines, at, match) {
  const base = match[1].length;
  const gap = match[4] && match[3].length <= 4 ? match[3].length : 1;
  const column = base + match[2].length + gap;
  const inner = [match[4] || ""];
  let end = at + 1, isAfterBlank = false;
  while (end < lines.length) {
    let next = end;
    while (next < lines.length && isBlank(lines[next]))
      ++next;
    if (next === lines.length)
      break;
    const indent = indentOf(lines[next]);
    isAfterBlank = next > end;
    if (indent < base + 2 &&
        (isAfterBlank || itemOf(lines[next]) || interrupts(lines[next])))
      break;
    for (; end < next; ++end)
      inner.push("");
    inner.push(lines[next].slice(Math.min(indent, column)));
    end = next + 1;
  }
  return {inner, end};
}

function readList(lines, at, depth) {
  const first = itemOf(lines[at]);
  const isOrdered = /\d/.test(first[2]), base = first[1].length;
  const items = [];
  let end = at;
  for (let next = at; next < lines.length;) {
    const match = itemOf(lines[next]);
    if (!match || /\d/.test(match[2]) !== isOrdered ||
        match[1].length >= base + 2)
      break;
    const item = readItem(lines, next, match);
    items.push(readBlocks(item.inner, depth + 1));
    next = end = item.end;
    while (next < lines.length && isBlank(lines[next]))
      ++next;
  }
  return {kind: "list", isOrdered, start: parseInt(first[2], 10), items, end};
}

function readParagraph(lines, at, isPlain) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) &&
         (isPlain || (!interrupts(lines[end]) && !isTable(lines, end))))
    ++end;
  const text = lines.slice(at, end).map((line) => line.trim()).join("\n");
  return {kind: "paragraph", text, end};
}

function readHeading(lines, at) {
  const [, marks, rest] = kHeading.exec(lines[at]);
  const text = (rest || "").trim().replace(/(^|[ \t])#+$/, "").trim();
  return {kind: "heading", level: marks.length, text, end: at + 1};
}

function readBlock(lines, at, depth) {
  const line = lines[at];
  if (depth > kMostDepth)
    return readParagraph(lines, at, true);
  if (fenceOf(line))
    return readFence(lines, at);
  if (kHeading.test(line))
    return readHeading(lines, at);
  if (kRule.test(line))
    return {kind: "rule", end: at + 1};
  if (kQuote.test(line))
    return readQuote(lines, at, depth);
  if (itemOf(line))
    return readList(lines, at, depth);
  if (isTable(lines, at))
    return readTable(lines, at);
  return readParagraph(lines, at, false);
}

// Returns the blocks of lines, each with its `source`.
function readBlocks(lines, depth = 0) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      ++at;
      continue;
    }
    const block = readBlock(lines, at, depth);
    if (depth === 0)
      block.source = lines.slice(at, block.end).join("\n");
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

// Nodes.

function inlineNode(name, text) {
  const made = element(name);
  renderInline(made, text);
  return made;
}

function codeNode(block) {
  const box = element("div", undefined, "code");
  const head = box.appendChild(element("div", undefined, "code-head"));
  const language = block.info.split(/\s/, 1)[0].slice(0, 40);
  head.append(element("span", language || "text"));
  const copy = head.appendChild(element("button", "Copy", "quiet copy"));
  copy.type = "button";
  copy.setAttribute("aria-label", "Copy code");
  const pre = box.appendChild(element("pre"));
  pre.append(element("code", block.code.join("\n")));
  return box;
}

function tableNode(block) {
  const box = element("div", undefined, "table");
  const table = box.appendChild(element("table"));
  const rowOf = (cells, name) => {
    const row = element("tr");
    for (const [i, text] of cells.slice(0, block.sides.length).entries()) {
      const cell = row.appendChild(inlineNode(name, text));
      if (block.sides[i])
        cell.style.textAlign = block.sides[i];
    }
    return row;
  };
  table.createTHead().append(rowOf(block.head, "th"));
  table.createTBody().append(...block.rows.map((row) => rowOf(row, "td")));
  return box;
}

function listNode(block) {
  const list = element(block.isOrdered ? "ol" : "ul");
  if (block.isOrdered && block.start !== 1)
    list.start = block.start;
  for (const blocks of block.items) {
    const item = list.appendChild(element("li"));
    const first = blocks[0];
    const task = first && first.kind === "paragraph" &&
                 /^\[([ xX])\] /.exec(first.text);
    if (task) {
      first.text = first.text.slice(task[0].length);
      item.className = task[1] === " " ? "task" : "task done";
    }
    item.append(...blocks.map(blockNode));
  }
  return list;
}

function blockNode(block) {
  switch (block.kind) {
  case "code":
    return codeNode(block);
  case "heading":
    // The page's own headings are h1 and h2.
    return inlineNode(`h${Math.min(6, block.level + 2)}`, block.text);
  case "rule":
    return element("hr");
  case "quote": {
    const box = element("blockquote");
    box.append(...block.blocks.map(blockNode));
    return box;
  }
  case "list":
    return listNode(block);
  case "table":
    return tableNode(block);
  }
  return inlineNode("p", block.text);
}

// Shows a text in Markdown in `box`. Blocks that a former call for this box has
// made stay if their source is equal, with their selection and focus.
function renderMarkdown(box, text) {
  const lines = text.split(/\r\n?|\n/).map(
      (line) => line.replace(/^[ \t]+/, (s) => s.replaceAll("\t", "    ")));
  const blocks = readBlocks(lines);
  const former = box.sources || [];
  box.sources = blocks.map((block) => block.kind + "\n" + block.source);
  let same = 0;
  while (same < former.length && former[same] === box.sources[same])
    ++same;
  while (box.childNodes.length > same)
    box.lastChild.remove();
  box.append(...blocks.slice(same).map(blockNode));
}
