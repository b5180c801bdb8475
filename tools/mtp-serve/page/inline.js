// Markdown inside of a block: code, emphasis, links, line breaks. All text
// becomes text nodes, so no HTML of the model is parsed.

// Levels of emphasis; a deeper pair of marks stays text.
const kMostEmphasis = 12;
const kSchemes = /^(?:https?:\/\/|mailto:)/i;
const kBareLink = /https?:\/\/[^\s<>"`]+/iy;
const kAngleLink = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy;
const kTarget = new RegExp(
    "\\(\\s*(?:<([^<>\\n]*)>|([^\\s()<>]+(?:\\([^\\s()<>]*\\)[^\\s()<>]*)*))" +
    "(?:\\s+(?:\"[^\"\\n]*\"|'[^'\\n]*'))?\\s*\\)", "y");
const kPlain = /[^\\`\n!\[<*_~hH]+/y;

// Returns the address of a link that may be opened, or null. Schemes that run
// code, and addresses without a scheme, are not links.
function safeAddress(address) {
  if (!kSchemes.test(address))
    return null;
  try {
    const url = new URL(address);
    return kSchemes.test(url.href) ? url.href : null;
  } catch (error) {
    return null;
  }
}

function linkTo(address) {
  const link = element("a");
  link.href = link.title = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  return link;
}

// Returns the match of a sticky expression at a position of a text, or null.
function matchAt(expression, text, at) {
  expression.lastIndex = at;
  return expression.exec(text);
}

// Returns the end of each code span by its start, in linear time.
function codeSpans(text) {
  const runs = [...text.matchAll(/`+/g)];
  const spans = new Map(), later = new Map();
  for (const run of runs.reverse()) {
    const size = run[0].length;
    if (later.has(size))
      spans.set(run.index, {size, end: later.get(size)});
    later.set(size, run.index);
  }
  return spans;
}

// Returns the position of the closing bracket of each opening one.
function bracketPairs(text, spans) {
  const pairs = new Map(), open = [];
  for (let at = 0; at < text.length; ++at) {
    const span = spans.get(at);
    if (span)
      at = span.end + span.size - 1;
    else if (text[at] === "\\")
      ++at;
    else if (text[at] === "[")
      open.push(at);
    else if (text[at] === "]" && open.length)
      pairs.set(open.pop(), at);
  }
  return pairs;
}

// Returns the length of a bare link without punctuation that follows it.
function bareLength(link) {
  let size = link.length;
  let open = link.split("(").length - link.split(")").length;
  for (; size > 0; --size) {
    const last = link[size - 1];
    if (last === ")" && open < 0)
      ++open;
    else if (!"?!.,:;*_~'\"".includes(last))
      break;
  }
  return size;
}

function isSpace(char) {
  return char === "" || /\s/.test(char);
}

function isMark(char) {
  return /[\p{P}\p{S}]/u.test(char);
}

// Parses one text. `items` is a linked list of nodes in order, and `marks` the
// runs of emphasis marks among them, which emphasize() pairs.
class InlineParser {
  constructor(text, isInLink) {
    this.text = text;
    this.isInLink = isInLink;
    this.spans = codeSpans(text);
    this.pairs = isInLink ? new Map() : bracketPairs(text, this.spans);
    this.head = {node: null, depth: 0, previous: null, next: null};
    this.tail = this.head;
    this.marks = {previous: null, next: null};
    this.lastMark = this.marks;
  }

  addNode(node) {
    const item = {node, depth: 0, previous: this.tail, next: null};
    this.tail.next = item;
    this.tail = item;
    return item;
  }

  addText(text) {
    if (this.tail.isText)
      this.tail.node.appendData(text);
    else
      this.addNode(document.createTextNode(text)).isText = true;
  }

  // Parses what begins at a position, and returns the position of the rest.
  step(at) {
    const {text} = this, char = text[at];
    const plain = matchAt(kPlain, text, at);
    if (plain) {
      this.addText(plain[0]);
      return at + plain[0].length;
    }
    if (char === "\n") {
      this.addNode(element("br"));
      return at + 1;
    }
    if (char === "\\" && /[!-\/:-@\[-`{-~]/.test(text[at + 1] || "")) {
      this.addText(text[at + 1]);
      return at + 2;
    }
    const end = char === "`" ? this.code(at) :
                char === "[" || text.startsWith("![", at) ? this.link(at) :
                "*_~".includes(char) ? this.mark(at) : this.address(at);
    if (end > at)
      return end;
    this.addText(char);
    return at + 1;
  }

  code(at) {
    const span = this.spans.get(at);
    if (!span) {
      const run = matchAt(/`+/y, this.text, at)[0];
      this.addText(run);
      return at + run.length;
    }
    let code = this.text.slice(at + span.size, span.end).replaceAll("\n", " ");
    if (/^ .*\S.* $/.test(code) || /^ \S $/.test(code))
      code = code.slice(1, -1);
    this.addNode(element("code", code));
    return span.end + span.size;
  }

  // A picture is a link, too: the page loads nothing.
  link(at) {
    const open = this.text[at] === "!" ? at + 1 : at;
    const close = this.pairs.get(open);
    if (close === undefined || this.text[close + 1] !== "(")
      return at;
    const target = matchAt(kTarget, this.text, close + 1);
    const address = target && safeAddress(target[1] || target[2] || "");
    if (!address)
      return at;
    const link = linkTo(address);
    const label = this.text.slice(open + 1, close);
    renderInline(link, label || address, true);
    this.addNode(link).depth = kMostEmphasis / 2;
    return close + 1 + target[0].length;
  }

  address(at) {
    if (this.isInLink)
      return at;
    const angle = matchAt(kAngleLink, this.text, at);
    const isWord = at > 0 && /\w/.test(this.text[at - 1]);
    const bare = angle || isWord ? null : matchAt(kBareLink, this.text, at);
    if (!angle && !bare)
      return at;
    const shown = angle ? angle[1] : bare[0].slice(0, bareLength(bare[0]));
    const address = safeAddress(shown);
    if (!address)
      return at;
    const link = linkTo(address);
    link.textContent = shown;
    this.addNode(link);
    return at + (angle ? angle[0].length : shown.length);
  }

  // Adds a run of marks, with CommonMark's rules of flanking.
  mark(at) {
    const char = this.text[at];
    let end = at;
    while (this.text[end] === char)
      ++end;
    const before = this.text[at - 1] || "", after = this.text[end] || "";
    const left = !isSpace(after) &&
                 (!isMark(after) || isSpace(before) || isMark(before));
    const right = !isSpace(before) &&
                  (!isMark(before) || isSpace(after) || isMark(after));
    const isWordMark = char === "_";
    const run = document.createTextNode(this.text.slice(at, end));
    const item = this.addNode(run);
    if (char === "~" && end - at !== 2)
      return end;
    const mark = {
      char, item, order: at, count: end - at, size: end - at,
      canOpen: left && (!isWordMark || !right || isMark(before)),
      canClose: right && (!isWordMark || !left || isMark(after)),
      previous: this.lastMark, next: null
    };
    this.lastMark.next = mark;
    this.lastMark = mark;
    return end;
  }

  removeMark(mark) {
    mark.previous.next = mark.next;
    if (mark.next)
      mark.next.previous = mark.previous;
    mark.item.node.data = mark.char.repeat(mark.count);
  }

  // Returns the nearest mark that can open what `closer` ends, or null.
  openerOf(closer, bottom) {
    for (let mark = closer.previous; mark.previous; mark = mark.previous) {
      if (mark.order <= bottom)
        return null;
      const isOdd = (mark.canClose || closer.canOpen) &&
                    (mark.size + closer.size) % 3 === 0 &&
                    (mark.size % 3 !== 0 || closer.size % 3 !== 0);
      if (mark.char === closer.char && mark.canOpen && !isOdd)
        return mark;
    }
    return null;
  }

  // Moves the nodes between two marks into an element. Returns whether the
  // nesting allows it.
  wrap(opener, closer, name) {
    let depth = 0;
    for (let item = opener.item.next; item !== closer.item; item = item.next)
      depth = Math.max(depth, item.depth);
    if (depth >= kMostEmphasis)
      return false;
    const box = element(name);
    for (let mark = opener.next; mark !== closer; mark = mark.next)
      this.removeMark(mark);
    for (let item = opener.item.next; item !== closer.item; item = item.next)
      box.append(item.node);
    const item = {node: box, depth: depth + 1, previous: opener.item,
                  next: closer.item};
    opener.item.next = closer.item.previous = item;
    return true;
  }

  // Pairs two marks, and returns the mark to go on with.
  pair(opener, closer) {
    const use = Math.min(opener.count, closer.count, 2);
    const name = closer.char === "~" ? "del" : use === 2 ? "strong" : "em";
    if (this.wrap(opener, closer, name)) {
      opener.count -= use;
      closer.count -= use;
      if (opener.count === 0)
        this.removeMark(opener);
      if (closer.count > 0)
        return closer;
    } else {
      // All marks so far become text, or each outer pair would count the depth
      // of the same nodes.
      while (closer.previous.previous)
        this.removeMark(closer.previous);
    }
    this.removeMark(closer);
    return closer.next;
  }

  // CommonMark's algorithm: `bottoms` are positions below which no opener is.
  emphasize() {
    const bottoms = {};
    for (let closer = this.marks.next; closer;) {
      const key = `${closer.char}${closer.canOpen}${closer.size % 3}`;
      const opener =
          closer.canClose ? this.openerOf(closer, bottoms[key] ?? -1) : null;
      if (opener) {
        closer = this.pair(opener, closer);
        continue;
      }
      const next = closer.next;
      if (closer.canClose) {
        bottoms[key] = closer.previous.order ?? -1;
        if (!closer.canOpen)
          this.removeMark(closer);
      }
      closer = next;
    }
    for (let mark = this.marks.next; mark; mark = mark.next)
      mark.item.node.data = mark.char.repeat(mark.count);
  }
}

// Appends the nodes of a text in Markdown to `box`.
function renderInline(box, text, isInLink = false) {
  const parser = new InlineParser(text, isInLink);
  for (let at = 0; at < text.length;)
    at = parser.step(at);
  parser.emphasize();
  for (let item = parser.head.next; item; item = item.next)
    box.append(item.node);
}
