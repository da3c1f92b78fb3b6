// Fetches the page every few seconds and replaces what changed; shows times as "3 s ago". Loaded after tips.js.
const TOKEN = "rebalance-agent-token", SLOWEST_S = 15, PATIENCE_MS = 10000;
const live = document.getElementById("live"), pause = document.getElementById("pause");
let every = Number(document.body.dataset.every), etag = "", trouble = 0, ahead = 0, timer = 0, asking = null;

function say(text) {
  if (live.textContent !== text) live.textContent = text;
}

// Makes `old` equal to `fresh` and changes only what differs: focus, scrolling, open details and the pointer stay.
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((node, index) => (index < before.length ? morph(before[index], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

// A time in the future (the broker's clock is ahead) counts as now.
function seconds(milliseconds) {
  const value = Math.max(0, milliseconds / 1000);
  if (value < 60) return Math.floor(value) + " s";
  if (value < 3600) return Math.floor(value / 60) + " min " + Math.floor(value % 60) + " s";
  if (value < 172800) return Math.floor(value / 3600) + " h " + Math.floor((value % 3600) / 60) + " min";
  return Math.floor(value / 86400) + " days";
}

// Uses the agent's clock, since this machine's may be wrong. The Date header has it to the second.
function adjust(answer) {
  const date = Date.parse(answer.headers.get("Date") || "");
  ahead = date && Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
}

function tick() {
  const now = Date.now() + ahead;
  for (const each of document.querySelectorAll("[data-ago]")) {
    if (!each.title) each.title = each.textContent;
    put(each, seconds(now - Number(each.dataset.ago)) + " ago");
  }
  for (const each of document.querySelectorAll("[data-since]"))
    put(each, "for " + seconds(now - Number(each.dataset.since)));
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function take(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const main = fresh.getElementById("main");
  if (!main) throw new Error("not the agent's page"); // such as an ingress's error page while the agent restarts
  for (const each of main.querySelectorAll("[data-ago]")) each.title = each.textContent;
  const old = document.getElementById("main"), marked = here;
  if (old.querySelector("#wanted") && main.querySelector("#wanted")) main.querySelector("#wanted").replaceWith(old.querySelector("#wanted").cloneNode(true));
  morph(old, main);
  document.title = fresh.title;
  every = Number(fresh.body.dataset.every);
  if (marked && !marked.isConnected) show(null);
  tick();
}

async function refresh() {
  clearTimeout(timer);
  if (asking) asking.abort();
  const mine = (asking = new AbortController()), patience = setTimeout(() => mine.abort(), PATIENCE_MS);
  const token = sessionStorage.getItem(TOKEN), headers = { Accept: "text/html" };
  if (etag) headers["If-None-Match"] = etag;
  if (token) headers.Authorization = "Bearer " + token;
  try {
    const answer = await fetch(location.href, { headers, signal: mine.signal, cache: "no-store", redirect: "error" });
    adjust(answer);
    if (answer.status === 401) return signIn(token, await answer.text());
    if (answer.status !== 304 && answer.status !== 404 && !answer.ok) throw new Error("status " + answer.status);
    if (answer.status !== 304) {
      take(await answer.text());
      etag = answer.ok ? answer.headers.get("ETag") || "" : "";
    }
    trouble = 0;
    document.body.classList.remove("stale");
    say("live");
  } catch (error) {
    if (asking !== mine) return; // a newer request has replaced this one
    trouble += 1;
    document.body.classList.add("stale");
    say("The agent does not respond; this page is out of date. Retrying.");
  } finally {
    clearTimeout(patience);
  }
  if (asking === mine) later();
}

function later() {
  clearTimeout(timer);
  if (every && !document.hidden && pause.getAttribute("aria-pressed") === "false")
    timer = setTimeout(refresh, Math.min(SLOWEST_S, every * 2 ** trouble) * 1000);
}

function signIn(refused, text) {
  sessionStorage.removeItem(TOKEN);
  etag = "";
  say("");
  if (!document.getElementById("signin")) take(text);
  const form = document.getElementById("signin");
  if (refused) document.getElementById("refused").textContent = "This token was rejected.";
  form.onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, form.elements.token.value);
    refresh();
  };
  form.elements.token.focus();
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("#wanted");
  if (!form) return;
  const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && !(name === "sort" && value === "worst")));
  history.replaceState(null, "", query.size ? "./?" + query : "./");
  clearTimeout(timer);
  timer = setTimeout(refresh, 250);
});

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : every && refresh()));
setInterval(() => document.hidden || tick(), 1000);
pause.addEventListener("click", () => {
  const on = pause.getAttribute("aria-pressed") === "false";
  pause.setAttribute("aria-pressed", String(on));
  if (on) say("paused");
  else refresh();
  if (on) clearTimeout(timer);
});

fetch("icon.svg", { method: "HEAD", cache: "no-store" }).then(adjust, () => {}).finally(tick);
if (document.getElementById("signin")) {
  if (sessionStorage.getItem(TOKEN)) refresh();
  else signIn("", "");
} else if (every) {
  pause.hidden = false;
  later();
  say("live");
}
