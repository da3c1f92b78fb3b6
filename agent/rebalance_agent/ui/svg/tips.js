"use strict";
// Explains marks under the pointer or, by the arrow keys, one after the other.
const tip = document.getElementById("tip");
let here = null;

function show(mark, x, y) {
  if (here) here.classList.remove("here");
  here = mark;
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("here");
  tip.textContent = mark.dataset.t;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
}

document.addEventListener("pointermove", (event) => {
  const mark = event.target.closest ? event.target.closest("svg [data-t]") : null;
  if (mark) show(mark, event.clientX, event.clientY);
  else if (here && !here.ownerSVGElement.matches(":focus")) show(null);
});

function middle(mark) {
  const box = mark.getBoundingClientRect();
  return box.x + box.width / 2;
}

// The next mark of the same row, or in the row above or below the one that is nearest.
function neighbour(marks, at, key) {
  if (at < 0 || key === "Home") return marks[0];
  if (key === "End") return marks[marks.length - 1];
  const row = Number(marks[at].dataset.r), x = middle(marks[at]);
  const inRow = (number) => marks.filter((mark) => Number(mark.dataset.r) === number);
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const mine = inRow(row);
    return mine[(mine.indexOf(marks[at]) + (key === "ArrowLeft" ? -1 : 1) + mine.length) % mine.length];
  }
  const step = key === "ArrowUp" ? -1 : 1;
  const most = Math.max(...marks.map((mark) => Number(mark.dataset.r)));
  for (let number = row + step; number >= 0 && number <= most; number += step) {
    const found = inRow(number);
    if (found.length) return found.reduce((a, b) => (Math.abs(middle(b) - x) < Math.abs(middle(a) - x) ? b : a));
  }
  return marks[at];
}

document.addEventListener("keydown", (event) => {
  const picture = event.target.closest ? event.target.closest("svg[tabindex]") : null;
  if (!picture) return;
  const rows = picture.hasAttribute("data-rows");
  const keys = ["ArrowLeft", "ArrowRight", "Home", "End", "Escape", ...(rows ? ["ArrowUp", "ArrowDown"] : [])];
  if (!keys.includes(event.key)) return;
  const marks = [...picture.querySelectorAll("[data-t]")];
  if (event.key === "Escape" || !marks.length) return show(null);
  event.preventDefault();
  const at = marks.indexOf(here);
  let mark = rows ? neighbour(marks, at, event.key) : null;
  if (!rows) {
    const step = event.key === "ArrowLeft" ? -1 : 1;
    const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : at < 0 ? 0 : at + step;
    mark = marks[(next + marks.length) % marks.length];
  }
  const box = mark.getBoundingClientRect();
  show(mark, box.x + box.width / 2, box.y + box.height / 2);
});

document.addEventListener("focusout", () => show(null));
