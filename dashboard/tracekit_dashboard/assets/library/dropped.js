// Files dropped or chosen, as { name, items: [{ path, file }] }: browsers deliver a bundle in several ways.

const IGNORED = /(^|\/)(__MACOSX|\.DS_Store)(\/|$)/;

/** Reads a drop: files, and folders with all their files. Must be called while the event is handled. */
export async function droppedItems(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null).filter(Boolean);
  const items = [];
  for (const entry of entries) await collectEntry(entry, "", items);
  return withName(items);
}

/** Reads an input for files or, with webkitdirectory, for a folder. */
export function chosenItems(files) {
  return withName([...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
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
    if (batch.length === 0) return; // readEntries returns at most some hundred at a time
    for (const child of batch) await collectEntry(child, `${path}/`, items);
  }
}

/** Adds a name: the folder's if all files are in one, else the first file's. Files added by the Finder are left out. */
function withName(all) {
  const items = all.filter(({ path }) => !IGNORED.test(path)).sort((left, right) => (left.path < right.path ? -1 : 1));
  if (items.length === 0) return { name: "", items };
  const tops = new Set(items.map(({ path }) => path.split("/")[0]));
  const name = tops.size === 1 ? [...tops][0] : `${[...tops][0]} and ${tops.size - 1} more`;
  return { name, items };
}
