// The functions of the selection as a table, with the numbers of the call tree.
import { functionSums } from "./calltree.js";
import { make } from "../shared/dom.js";
import { cleanText, formatCount, formatPercent, formatWeight } from "../shared/numbers.js";
import { functionName, matchingFunctions } from "./stack_model.js";
import { createTable } from "../tables/table.js";

const MOST_FUNCTIONS = 2000;

/** `choose(func)` is called for a click. */
export function createFunctionTable(view, store, page, choose) {
  let tree = null;
  let sums = [];
  let matches = null;
  const note = make("p", { className: "note", hidden: true });
  const name = (row) => functionName(view, tree, sums[row].func);
  const weight = (value) => `${formatWeight(value, view.unit)} (${formatPercent(value / tree.weight)})`;
  const table = createTable({
    caption: "Functions of the selection",
    sort: { key: "self", descending: true },
    columns: [
      { key: "name", title: "Function", value: name },
      { key: "self", title: "Self", isNumber: true, value: (row) => sums[row].self, show: (row) => weight(sums[row].self) },
      { key: "total", title: "Total", isNumber: true, value: (row) => sums[row].total, show: (row) => weight(sums[row].total) },
      { key: "binary", title: "Library", value: (row) => cleanText(view.strings[tree.binaries[sums[row].func]], 300) },
    ],
    rowCount: () => sums.length,
    onChoose: (row) => choose(sums[row].func),
    chooseLabel: (row) => `${name(row)}: callers and callees`,
    marked: (row) => matches !== null && matches[sums[row].func] === 1,
  });
  const mark = () => {
    matches = tree && matchingFunctions(view, tree, store.state.search);
    if (tree) table.mark();
  };
  store.on(["search"], mark);
  return {
    element: make("div", {}, note, table.element),
    refresh() {
      tree = page.stacks.tree();
      const all = functionSums(tree);
      sums = all.slice(0, MOST_FUNCTIONS);
      note.hidden = sums.length === all.length;
      note.textContent = `The ${formatCount(sums.length)} heaviest by self time of ${formatCount(all.length)} functions.`;
      matches = matchingFunctions(view, tree, store.state.search);
      table.refresh();
    },
  };
}
