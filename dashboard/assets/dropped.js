// What was dropped or chosen, as { name, items: [{ path, file }] }: browsers hand a bundle over in several ways.

const IGNORED = /(^|\/)(__MACOSX|\.DS_Store)(\/|$)/;

/** From a drop: a file, or a folder with all that lies in it. Must be called while the drop is handled. */
export async function droppedItems(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null).filter(Boolean);
  const items = [];
  for (const entry of entries) await collectEntry(entry, "", items);
  return named(items);
}

/** From an input for files or, with webkitdirectory, for a folder. */
export function chosenItems(files) {
  return named([...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
}

async function collectEntry(entry, folder, items) {
  const path = `${folder}${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    items.push({ path, file });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return; // a batch holds at most some hundred
    for (const each of batch) await collectEntry(each, `${path}/`, items);
  }
}

/** The name is the folder's where all lies in one, else the first file's; what the Finder adds is left out. */
function named(all) {
  const items = all.filter(({ path }) => !IGNORED.test(path)).sort((one, other) => (one.path < other.path ? -1 : 1));
  if (items.length === 0) return { name: "", items };
  const tops = new Set(items.map(({ path }) => path.split("/")[0]));
  const name = tops.size === 1 ? [...tops][0] : `${[...tops][0]} and ${tops.size - 1} more`;
  return { name, items };
}
