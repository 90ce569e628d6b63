"use strict";
// Sort the rows of a table by a column: numbers by value, texts by name, empty cells last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => {
        const text = row.cells[column].textContent.trim();
        const number = parseFloat(text);
        return { row, text, number, empty: text === "" || text === "-" };
      });
      const numeric = keyed.every((entry) => entry.empty || !Number.isNaN(entry.number));
      const compare = (a, b) => numeric ? a.number - b.number : a.text.localeCompare(b.text, "en", { numeric: true });
      keyed.sort((a, b) => a.empty - b.empty || (a.empty ? 0 : (descending ? -1 : 1) * compare(a, b)));
      body.append(...keyed.map((entry) => entry.row));
    });
  });
}
// What is closed on the screen is open on paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
