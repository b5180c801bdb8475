// Unit tests of the page's Markdown, run in the page by page_fake.py. Returns
// the failures as texts.

const failures = [];

function rendered(text) {
  const box = document.createElement("div");
  renderMarkdown(box, text);
  return box;
}

function check(name, got, expected) {
  if (got !== expected)
    failures.push(`${name}: expected ${expected}, got ${got}`);
}

const link = (address, label = address) =>
    `<a title="${address}" href="${address}" target="_blank" ` +
    `rel="noopener noreferrer nofollow">${label}</a>`;

// Texts and the HTML of their nodes.
const kCases = [
  ["a **b** *c* ***d***",
   "<p>a <strong>b</strong> <em>c</em> <em><strong>d</strong></em></p>"],
  ["a__b__c __d__ _e_ f_g_h", "<p>a__b__c <strong>d</strong> <em>e</em> f_g_h</p>"],
  ["~~a~~ ~b~ ~~~~", "<p><del>a</del> ~b~ ~~~~</p>"],
  ["*a **b* c**", "<p><em>a <em><em>b</em> c</em></em></p>"],
  ["2 * 3 * 4 and **open", "<p>2 * 3 * 4 and **open</p>"],
  ["\\*a\\* \\<b> \\q", "<p>*a* &lt;b&gt; \\q</p>"],
  ["one\ntwo", "<p>one<br>two</p>"],
  ["one\r\n\r\ntwo", "<p>one</p><p>two</p>"],
  ["`a *b* <i>` ``c`d`` `e", "<p><code>a *b* &lt;i&gt;</code> <code>c`d</code> `e</p>"],
  ["# A\n### B ##\n####### C", "<h3>A</h3><h5>B</h5><p>####### C</p>"],
  ["#no heading", "<p>#no heading</p>"],
  ["a\n---\nb\n***", "<p>a</p><hr><p>b</p><hr>"],
  ["- a\n- b\n  - c\n    d\n\n  e\n- f",
   "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c<br>d</p></li></ul><p>e</p></li>" +
   "<li><p>f</p></li></ul>"],
  ["3. a\n4. b\n   - c\n5. d",
   "<ol start=\"3\"><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li>" +
   "<li><p>d</p></li></ol>"],
  ["1. a\n  - b\n2. c",
   "<ol><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>"],
  ["in 1999\n2000. no list\ntext\n- list",
   "<p>in 1999<br>2000. no list<br>text</p><ul><li><p>list</p></li></ul>"],
  ["- [ ] a\n- [x] b",
   "<ul><li class=\"task\"><p>a</p></li><li class=\"task done\"><p>b</p></li></ul>"],
  ["> a\n> > b\n\nc",
   "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"],
  ["| a | b |\n|:-:|--:|\n| 1 | x\\|y | z |\n| 2 |",
   "<div class=\"table\"><table><thead><tr><th style=\"text-align: center;\">a</th>" +
   "<th style=\"text-align: right;\">b</th></tr></thead><tbody>" +
   "<tr><td style=\"text-align: center;\">1</td><td style=\"text-align: right;\">x|y</td></tr>" +
   "<tr><td style=\"text-align: center;\">2</td></tr></tbody></table></div>"],
  ["a | b\nc | d", "<p>a | b<br>c | d</p>"],
  // Links: absolute addresses of schemes that run nothing.
  ["[a](https://b.example/c_(d) \"e\")", `<p>${link("https://b.example/c_(d)", "a")}</p>`],
  ["**[a](https://b.example/)**",
   `<p><strong>${link("https://b.example/", "a")}</strong></p>`],
  ["<https://b.example/> (https://c.example/d).",
   `<p>${link("https://b.example/")} (${link("https://c.example/d")}).</p>`],
  ["[m](mailto:a@b.example)", `<p>${link("mailto:a@b.example", "m")}</p>`],
  ["![picture](https://b.example/c.png)",
   `<p>${link("https://b.example/c.png", "picture")}</p>`],
  ["[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"],
  ["[a](JaVaScRiPt:alert(1)) <javascript:alert(1)>",
   "<p>[a](JaVaScRiPt:alert(1)) &lt;javascript:alert(1)&gt;</p>"],
  ["[a](&#106;avascript:x) [b](java\tscript:x) [c](\x01javascript:x)",
   "<p>[a](&amp;#106;avascript:x) [b](java\tscript:x) [c](\x01javascript:x)</p>"],
  ["[a](data:text/html,x) [b](vbscript:x) [c](file:///etc/passwd) [d](/metrics)",
   "<p>[a](data:text/html,x) [b](vbscript:x) [c](file:///etc/passwd) [d](/metrics)</p>"],
  ["[a](https://)", "<p>[a](https://)</p>"],
  // HTML is text.
  ["<script>window.pwned = 1</script>",
   "<p>&lt;script&gt;window.pwned = 1&lt;/script&gt;</p>"],
  ["<img src=x onerror=pwned=1> &lt;b>", "<p>&lt;img src=x onerror=pwned=1&gt; &amp;lt;b&gt;</p>"],
  ["# <svg onload=pwned=1>", "<h3>&lt;svg onload=pwned=1&gt;</h3>"],
  ["", ""],
  ["\0 \ufffd \ud800", "<p>\0 \ufffd \ud800</p>"],
];

for (const [text, html] of kCases)
  check(JSON.stringify(text), rendered(text).innerHTML, html);

// Code blocks: language, text, and fences without an end.
for (const [text, language, code] of [
       ["```c++ x\n<b>\n\n  a\n```\nrest", "c++", "<b>\n\n  a"],
       ["~~~\n```\n~~~~", "text", "```"],
       ["````\n```\na\n```\n````", "text", "```\na\n```"],
       ["- a\n  ```sh\n  ls\n    b\n  ```\n- c", "sh", "ls\n  b"],
       ["```js\nno end\n</code></pre><script>pwned=1</script>", "js",
        "no end\n</code></pre><script>pwned=1</script>"],
       ["```" + "\"><img src=x onerror=pwned=1>", "\"><img", ""],
     ]) {
  const box = rendered(text);
  check(`language of ${text}`, box.querySelector(".code-head span").textContent, language);
  check(`code of ${text}`, box.querySelector("pre").textContent, code);
}
check("a fence that is text", rendered("``` a`b").innerHTML, "<p>``` a`b</p>");

// No text makes other elements than these, or attributes that run code.
const kElements = new Set(["A", "BLOCKQUOTE", "BR", "BUTTON", "CODE", "DEL", "DIV", "EM",
                           "H3", "H4", "H5", "H6", "HR", "LI", "OL", "P", "PRE", "SPAN",
                           "STRONG", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL"]);
function checkSafe(name, box) {
  for (const node of box.querySelectorAll("*")) {
    if (!kElements.has(node.tagName))
      failures.push(`${name}: element ${node.tagName}`);
    for (const {name: attribute} of node.attributes)
      if (attribute.startsWith("on") || attribute === "src")
        failures.push(`${name}: attribute ${attribute}`);
    if (node.tagName === "A" && !/^(https?|mailto):$/.test(node.protocol))
      failures.push(`${name}: link to ${node.protocol}`);
  }
}

// Random texts of marks. The generator is fixed, so a failure repeats.
let state = 12345;
function random(n) {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor(state / 65536) % n;
}
const kPieces = ["*", "**", "_", "~~", "`", "``", "```", "\n", "\n\n", "[", "](", ")", "!", "<",
                 ">", "| ", "|-|\n", "- ", "1. ", "# ", "> ", "    ", "\\", "a", "word ",
                 "https://x.example/", "javascript:x", "<script>", "onclick=", "\"", "'", "&lt;",
                 "\ud83d\ude00", "\u202e", "\0", "(", "---\n", "~~~\n", ":"];
for (let round = 0; round < 3000; ++round) {
  let text = "";
  for (let i = random(60); i >= 0; --i)
    text += kPieces[random(kPieces.length)];
  const box = document.createElement("div");
  try {
    // As a stream does: a prefix first, whose blocks stay or are replaced.
    renderMarkdown(box, text.slice(0, random(text.length + 1)));
    renderMarkdown(box, text);
  } catch (error) {
    failures.push(`${JSON.stringify(text)}: ${error.stack}`);
    break;
  }
  checkSafe(JSON.stringify(text), box);
  check(`stream of ${JSON.stringify(text)}`, box.innerHTML, rendered(text).innerHTML);
}

// Long and deep texts: quadratic work would exceed the time of the script, and
// deep nodes the browser's stack.
const kMost = 60000;
function depthOf(box) {
  let depth = 0;
  for (let row = [box]; row.length; ++depth)
    row = row.flatMap((node) => [...node.children]);
  return depth;
}
for (const piece of ["*", "*a ", "**a ", "_a_", "a*b_", "`", "`` ` ", "[", "](", "[a](", "![", "<",
                     "<https://", "https://x.example/(", ">", "> ", "- ", "1. ", "  - a\n", "#",
                     "# ", "|", "|-", "a|b\n-|-\n", "\n", "```\n", "~~~ ", "\\", " ", "\t", "-",
                     "* * ", "a", "&amp;", "~~a", "*_~~", "((", "- a\n\n", "> - "]) {
  const text = piece.repeat(kMost / piece.length);
  for (const shown of [text, text + "x"]) {
    const box = rendered(shown);
    const depth = depthOf(box);
    if (depth > 60)
      failures.push(`${JSON.stringify(piece)}: depth ${depth}`);
  }
}
const kNested = ["*a **b ", " c** d*"].map((part) => part.repeat(20000)).join("x");
check("nested emphasis", depthOf(rendered(kNested)) < 60, true);

// A row has no more cells than the head, and no fewer than are written.
const kWide = "|a".repeat(3000) + "|\n" + "|-".repeat(3000) + "|\n" + "|b|\n".repeat(3000);
check("cells", rendered(kWide).querySelectorAll("td").length, 3000);

// Blocks before a change keep their nodes, and so focus and selection.
const box = document.createElement("div");
renderMarkdown(box, "one\n\n```\ncode\n```\n\ntw");
const [first, code] = box.children;
renderMarkdown(box, "one\n\n```\ncode\n```\n\ntwo *three*");
check("kept nodes", box.children[0] === first && box.children[1] === code, true);
check("new text", box.lastChild.textContent, "two three");

return failures.slice(0, 20);
