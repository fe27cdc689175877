// Adds new requests to the list while it is live: it asks for them twice a second, and pauses after a while.
const PERIOD = 500;
const LONGEST = 15 * 60 * 1000;
const table = document.getElementById("requests");
const body = table.tBodies[0];
const line = document.getElementById("line");
const button = document.getElementById("live");
const news = document.getElementById("news");
const address = new URL("/console/requests/rows", location.href);
address.search = location.search;
let since = 0;
let timer = 0;
// grows with each pause: an answer that was asked for before does not count any more
let round = 0;

function row(each) {
  const made = line.content.firstElementChild.cloneNode(true);
  made.dataset.id = each.id;
  const [time, method, heading, status, check, by, ms] = made.children;
  const link = heading.firstElementChild;
  link.href = each.address;
  const badge = check.firstElementChild;
  if (!each.check) badge.remove();
  const texts = [[time, each.time], [method, each.method], [link, each.asked], [status, each.status], [badge, each.check], [by, each.by], [ms, each.ms]];
  for (const [element, text] of texts) element.textContent = text;
  return made;
}

function show(rows) {
  const known = new Set(Array.from(body.rows, (each) => each.dataset.id));
  const fresh = rows.filter((each) => !known.has(each.id));
  if (!fresh.length) return;
  body.prepend(...fresh.map(row));
  while (body.rows.length > Number(table.dataset.most)) body.lastElementChild.remove();
  document.getElementById("nothing").hidden = true;
  const last = fresh[0];
  news.textContent = `${fresh.length} new: ${last.method} ${last.asked} ${last.status} ${last.check}`;
}

async function look(mine) {
  if (Date.now() - since > LONGEST) return pause("Paused after a quarter of an hour.");
  let rows = [];
  try {
    const answer = await fetch(address, { redirect: "error" });
    if (mine !== round) return;
    // the console may be busy for a moment
    const isBusy = answer.status === 503;
    if (!answer.ok && !isBusy) return pause(`Paused: the console answers ${answer.status}.`);
    if (!isBusy) rows = await answer.json();
  } catch {
    if (mine === round) pause("Paused: the service has stopped, or the session has ended.");
    return;
  }
  if (mine !== round) return;
  show(rows);
  timer = setTimeout(look, PERIOD, mine);
}

function pause(why) {
  clearTimeout(timer);
  timer = 0;
  round += 1;
  button.textContent = "Live";
  button.setAttribute("aria-pressed", "false");
  news.textContent = why;
}

function start() {
  since = Date.now();
  button.textContent = "● Live";
  button.setAttribute("aria-pressed", "true");
  news.textContent = "New requests appear here.";
  timer = setTimeout(look, 0, round);
}

button.addEventListener("click", () => (timer ? pause("Paused.") : start()));
button.hidden = false;
start();
