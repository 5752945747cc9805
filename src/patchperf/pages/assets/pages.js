"use strict";

// Search, sort and filter of the index. Without scripts the whole table is there, in order of its names.
(() => {
  const table = document.getElementById("cases");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const form = document.getElementById("filters");
  const field = (name) => document.getElementById(name);
  const texts = rows.map((row) => row.textContent.toLowerCase());

  const verdict = (row, metric) => {
    const cells = Array.from(row.querySelectorAll("[data-distinguishable]"))
      .filter((cell) => !metric || cell.dataset.metric === metric)
      .map((cell) => cell.dataset.distinguishable);
    return cells.includes("yes") ? "yes" : cells.includes("no") ? "no" : "untested";
  };

  const apply = () => {
    const words = field("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const repo = field("repo").value;
    const metric = field("metric").value;
    const wanted = field("distinguishable").value;
    const flagged = field("flagged").checked;
    let shown = 0;
    rows.forEach((row, place) => {
      const fits = words.every((word) => texts[place].includes(word))
        && (!repo || row.dataset.repo === repo)
        && (!wanted || verdict(row, metric) === wanted)
        && (!flagged || row.dataset.flagged === "yes");
      row.hidden = !fits;
      shown += fits;
    });
    table.querySelectorAll("[data-metric]").forEach((cell) => {
      cell.hidden = Boolean(metric) && cell.dataset.metric !== metric;
    });
    field("status").textContent = `${shown} of ${rows.length} cases`;
  };

  const key = (row, column, kind) => {
    const cell = row.cells[column];
    if (kind === "text") return cell.textContent.trim();
    return cell.dataset.key ? Number(cell.dataset.key) : NaN;
  };

  const compare = (kind) => (one, other) => kind === "text"
    ? (one < other ? -1 : one > other ? 1 : 0)
    : one - other;

  // Cells without a value come last, whichever way the others are sorted.
  const sort = (header, column) => {
    const kind = header.dataset.sort;
    const down = header.getAttribute("aria-sort") === "ascending";
    const empty = (value) => kind === "text" ? value === "" : Number.isNaN(value);
    const keyed = rows.map((row, place) => ({ row, place, value: key(row, column, kind) }));
    keyed.sort((one, other) => empty(one.value) - empty(other.value)
      || (empty(one.value) ? 0 : (down ? -1 : 1) * compare(kind)(one.value, other.value))
      || one.place - other.place);
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...keyed.map((one) => one.row));
  };

  Array.from(table.tHead.rows[1].cells).forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(header, column));
    header.append(button);
  });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  window.addEventListener("pageshow", apply);
  form.hidden = false;
  apply();
})();
