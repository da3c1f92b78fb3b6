// Sorts and filters the table of groups, and opens the group that a link leads to; after tips.js.
for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
    const numbers = button.dataset.sort === "number";
    const up = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "ascending" : !numbers;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => numbers ? Number(row.cells[head.cellIndex].dataset.v) : row.cells[head.cellIndex].textContent;
    const order = numbers ? (a, b) => a - b : (a, b) => a.localeCompare(b);
    const keyed = [...body.rows].map((row) => [key(row), row]);
    keyed.sort((a, b) => (up ? 1 : -1) * order(a[0], b[0]));
    body.append(...keyed.map((each) => each[1]));
  });
}

const wanted = document.getElementById("wanted");
if (wanted) wanted.addEventListener("input", () => {
  const text = wanted.value.toLowerCase();
  let found = 0;
  for (const row of document.getElementById("all-groups").tBodies[0].rows) {
    row.hidden = !row.textContent.toLowerCase().includes(text);
    found += !row.hidden;
  }
  document.getElementById("found").textContent = text ? found + " groups" : "";
});

function open() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", open);
open();
