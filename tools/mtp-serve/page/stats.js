// Statistics of one answer. Each answer has an object of its own, and the page
// shows the numbers of a single object.

// Rounds that an answer keeps for the time line.
const kMostRounds = 200;

// `rounds` has pairs of tokens and drafts. Times are milliseconds from the
// request on. `usage` is what the server counted for a complete answer.
function emptyStats() {
  return {tokens: 0, firstTokens: 0, firstAt: 0, lastAt: 0, roundCount: 0,
          roundTokens: 0, drafted: 0, accepted: 0, rounds: [], usage: null,
          maxK: 0, limit: 0, context: 0};
}

// Adds one round. A launch of several rounds has more tokens than one round
// could have; which drafts it accepted is not known.
function addRound(stats, tokens, drafted) {
  ++stats.roundCount;
  stats.roundTokens += tokens;
  if (tokens <= stats.maxK + 1) {
    stats.drafted += drafted;
    stats.accepted += Math.min(tokens - 1, drafted);
  }
  stats.rounds.push([tokens, drafted]);
  if (stats.rounds.length > kMostRounds)
    stats.rounds.shift();
}

// Adds the tokens of one event that arrived `at` milliseconds.
function addTokens(stats, choice, at) {
  for (const [i, tokens] of (choice.round_tokens || []).entries()) {
    const isFirst = stats.tokens === 0;
    stats.tokens += tokens;
    if (isFirst) {
      stats.firstAt = at;
      stats.firstTokens = tokens;
    }
    stats.lastAt = at;
    // The first token comes from the prompt's prefill.
    const made = tokens - (isFirst ? 1 : 0);
    if (made > 0)
      addRound(stats, made, choice.round_drafted?.[i] || 0);
  }
}

// Returns the tokens per second after the first ones, or null.
function speedOf(stats) {
  const seconds = (stats.lastAt - stats.firstAt) / 1000;
  const tokens = stats.tokens - stats.firstTokens;
  return seconds > 0 && tokens > 0 ? tokens / seconds : null;
}

// Returns the share of accepted drafts, or null without drafts. The server's
// counts replace the counts of rounds once the answer is complete.
function acceptanceOf(stats) {
  const counted = stats.usage?.speculation;
  const drafted = counted ? counted.drafted_tokens : stats.drafted;
  const accepted = counted ? counted.accepted_tokens : stats.accepted;
  return drafted > 0 ? accepted / drafted : null;
}

function perRoundOf(stats) {
  const counted = stats.usage?.speculation;
  if (counted)
    return counted.rounds ? 1 + counted.accepted_tokens / counted.rounds : null;
  return stats.roundCount ? stats.roundTokens / stats.roundCount : null;
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}

function secondsText(milliseconds) {
  return `${(milliseconds / 1000).toFixed(milliseconds < 9950 ? 2 : 1)} s`;
}

// Returns the line below an answer.
function statsLine(stats) {
  if (!stats.tokens)
    return "";
  const parts = [`${stats.tokens} ${stats.tokens === 1 ? "token" : "tokens"}`];
  if (speedOf(stats) !== null)
    parts.push(`${speedOf(stats).toFixed(1)} tokens/s`);
  if (acceptanceOf(stats) !== null)
    parts.push(`${percent(acceptanceOf(stats))} accepted`);
  parts.push(`${secondsText(stats.firstAt)} to first token`);
  return parts.join(" · ");
}

function columnOf([tokens, drafted], number, maxK) {
  const isLaunch = tokens > maxK + 1;
  const column = element("span", undefined, "round");
  column.append(element("i", undefined, "picked"));
  const nodes = isLaunch ? tokens : Math.max(tokens, drafted + 1);
  for (let i = 1; i < nodes; ++i)
    column.append(element("i", undefined, i >= tokens ? "rejected" :
                                          isLaunch ? "picked" : "accepted"));
  column.title = `${isLaunch ? "launch" : "round"} ${number}: ${tokens} tokens`;
  return column;
}

// Shows the rounds of an answer. Rounds that are shown already stay.
function showRounds(box, stats) {
  if (box.stats !== stats || box.shown > stats.roundCount) {
    box.stats = stats;
    box.shown = stats.roundCount - stats.rounds.length;
    box.replaceChildren();
  }
  const fresh = Math.min(stats.roundCount - box.shown, stats.rounds.length);
  const from = stats.rounds.length - fresh;
  for (let i = from; i < stats.rounds.length; ++i) {
    const number = stats.roundCount - stats.rounds.length + i + 1;
    box.append(columnOf(stats.rounds[i], number, stats.maxK));
  }
  while (box.childElementCount > kMostRounds)
    box.firstChild.remove();
  box.shown = stats.roundCount;
  box.scrollLeft = box.scrollWidth;
  const mean = perRoundOf(stats);
  box.setAttribute("aria-label", mean === null ? "No rounds yet" :
      `${stats.roundCount} rounds, ${mean.toFixed(2)} tokens each on average`);
}

function positionRow(drafted, accepted, i) {
  const share = drafted ? accepted / drafted : 0;
  const row = element("tr"), bar = element("meter");
  bar.value = share;
  bar.setAttribute("aria-label", `draft ${i + 1} accepted`);
  const cell = element("td");
  cell.append(bar);
  const head = element("th", `Draft ${i + 1}`);
  head.scope = "row";
  row.append(head, cell, element("td", drafted ? percent(share) : "–"));
  return row;
}

// Shows the statistics of one answer in the side panel, or none.
function showStats(stats = emptyStats()) {
  const usage = stats.usage, text = (id, value) => $(id).textContent = value;
  const speed = speedOf(stats), share = acceptanceOf(stats);
  const mean = perRoundOf(stats);
  text("tokens", stats.tokens || "–");
  text("speed", speed === null ? "–" : speed.toFixed(1));
  text("acceptance", share === null ? "–" : percent(share));
  text("length", mean === null ? "–" : mean.toFixed(2));
  text("first", stats.tokens ? secondsText(stats.firstAt) : "–");
  text("prompt", usage ? usage.prompt_tokens : "–");
  text("cached", usage?.prompt_tokens_details?.cached_tokens ?? "–");
  const counted = usage?.speculation;
  $("accepted").replaceChildren(...(counted?.drafted_by_position || []).map(
      (drafted, i) =>
          positionRow(drafted, counted.accepted_by_position[i], i)));
  $("positions").hidden = !$("accepted").childElementCount;
  showRounds($("rounds"), stats);
}
