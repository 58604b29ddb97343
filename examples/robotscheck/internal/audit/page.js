"use strict";
// This script filters and sorts the table of violations, and copies texts.
// Without it, the page shows everything.
for (const hidden of document.querySelectorAll("#filter, button.copy, button.show")) {
	hidden.hidden = false;
}

// copy puts a text on the clipboard. If the clipboard API is unavailable or not
// permitted, it copies from a temporary element.
function copy(button, text) {
	const done = () => {
		const label = button.textContent;
		button.textContent = "Copied";
		setTimeout(() => { button.textContent = label; }, 1500);
	};
	const copySelection = () => {
		const area = document.createElement("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
		done();
	};
	if (navigator.clipboard) {
		navigator.clipboard.writeText(text).then(done, copySelection);
	} else {
		copySelection();
	}
}

function tableText(table) {
	const rows = [...table.rows].filter((row) => !row.hidden);
	return rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()).join("\t")).join("\n") + "\n";
}

for (const button of document.querySelectorAll("button.copy")) {
	button.addEventListener("click", () => {
		const from = document.getElementById(button.dataset.from);
		copy(button, from.tagName === "TABLE" ? tableText(from) : from.textContent);
	});
}

// A number that is copied from a tile has no thousands separators.
document.addEventListener("copy", (event) => {
	const selection = document.getSelection();
	const tile = selection.anchorNode?.parentElement?.closest("dl.tiles dd");
	if (tile && selection.toString().trim() === tile.textContent) {
		event.clipboardData.setData("text/plain", tile.parentElement.dataset.n);
		event.preventDefault();
	}
});

const table = document.getElementById("violation-table");
if (table) {
	const body = table.tBodies[0];
	const rows = [...body.rows];
	const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
	const find = document.getElementById("find");
	const kinds = [...document.querySelectorAll("#filter input[name=kind]")];
	const found = document.getElementById("found");

	const filter = () => {
		const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
		const shown = new Set(kinds.filter((kind) => kind.checked).map((kind) => kind.value));
		let n = 0;
		for (const row of rows) {
			const isShown = shown.has(row.dataset.kind) && words.every((word) => texts.get(row).includes(word));
			row.hidden = !isShown;
			n += isShown ? 1 : 0;
		}
		found.textContent = n.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
	};
	document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
	document.getElementById("filter").addEventListener("input", filter);
	filter();

	[...table.tHead.rows[0].cells].forEach((heading, column) => {
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = heading.textContent;
		heading.replaceChildren(button);
		button.addEventListener("click", () => {
			const down = heading.getAttribute("aria-sort") === "ascending";
			for (const other of table.tHead.rows[0].cells) {
				other.removeAttribute("aria-sort");
			}
			heading.setAttribute("aria-sort", down ? "descending" : "ascending");
			const value = (row) => row.cells[column].dataset.v || row.cells[column].textContent;
			const order = new Intl.Collator("en", { numeric: true }).compare;
			rows.sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)));
			body.append(...rows);
		});
	});

	for (const button of document.querySelectorAll("button.show")) {
		button.addEventListener("click", () => {
			find.value = button.dataset.robot;
			for (const kind of kinds) {
				kind.checked = kind.value === button.dataset.kind;
			}
			filter();
			document.getElementById("violations").scrollIntoView();
		});
	}
}
