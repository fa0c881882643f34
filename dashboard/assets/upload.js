// The place for uploads: drop or choose, watch it go, cancel; what went wrong in a sentence.
import { make } from "/report-assets/dom.js";
import { chosenItems, droppedItems } from "./dropped.js";
import { Refused, sendItems, totalBytes } from "./slices.js";

const HINT =
  "A .trace, zipped (right-click, Compress) or as a folder; an xctrace export (.xml, .xml.gz) or a folder of them; a tracekit pack.";

export function showUpload(place) {
  let controller = null;
  const status = make("p", { className: "note", role: "status" }, HINT);
  const bar = make("progress", { className: "wide", max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const amount = make("p", { className: "note", hidden: true }); // beside the status, which would be read out at every slice
  const cancel = make("button", { type: "button", hidden: true, onclick: () => controller?.abort() }, "Cancel upload");
  const fileInput = picker({ multiple: true }, take);
  const folderInput = picker({ webkitdirectory: true }, take);
  const chooseFile = make("button", { type: "button", onclick: () => fileInput.click() }, "Choose a file …");
  const chooseFolder = make("button", { type: "button", onclick: () => folderInput.click() }, "Choose a folder …");
  const choices = make("div", { className: "actions" }, chooseFile, chooseFolder, cancel);
  const zone = make("div", { className: "drop" }, choices, bar, amount, status, fileInput, folderInput);
  place.append(zone);
  acceptDrops(zone, take, () => controller === null, tell);

  function take(found) {
    if (controller !== null) return;
    if (found.items.length === 0) tell("There was no file in what you chose. A folder must hold the files of a recording.", true);
    else start(found);
  }

  async function start({ name, items }) {
    controller = new AbortController();
    setBusy(true);
    let isElsewhere = false;
    const show = progress(totalBytes(items), bar, amount);
    const onProgress = (arrived, why) => {
      if (isElsewhere !== (why === "elsewhere")) tell((isElsewhere = !isElsewhere) ? `Another tab is sending ${name} …` : `Sending ${name} …`);
      show(arrived, why);
    };
    try {
      tell(`Sending ${name} …`);
      location.assign(await sendItems(name, items, { kept: memory(), signal: controller.signal, onProgress }));
    } catch (error) {
      if (controller.signal.aborted) tell(isElsewhere ? `The other tab goes on sending ${name}.` : "Cancelled: nothing of it was kept.");
      else tell(error instanceof Refused ? error.message : `${name} was not added: ${sentence(error)}`, true);
    } finally {
      controller = null;
      setBusy(false);
    }
  }

  function setBusy(isBusy) {
    bar.hidden = cancel.hidden = amount.hidden = !isBusy;
    chooseFile.disabled = chooseFolder.disabled = isBusy;
    zone.setAttribute("aria-busy", String(isBusy));
  }

  function tell(text, isProblem = false) {
    status.textContent = text;
    status.className = isProblem ? "problem" : "note";
  }
}

function picker(properties, take) {
  const input = make("input", { type: "file", hidden: true, ...properties });
  input.addEventListener("change", () => {
    const found = chosenItems(input.files);
    input.value = "";
    take(found);
  });
  return input;
}

function acceptDrops(zone, take, isFree, tell) {
  addEventListener("dragover", (event) => {
    event.preventDefault(); // else a file that misses the zone replaces the page
    zone.classList.toggle("over", zone.contains(event.target));
  });
  addEventListener("dragleave", () => zone.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (!zone.contains(event.target) || !isFree()) return;
    tell("Looking at what was dropped …");
    droppedItems(event.dataTransfer)
      .then(take)
      .catch((error) => tell(`What was dropped cannot be read: ${sentence(error)}`, true));
  });
}

function progress(total, bar, amount) {
  return (arrived, why) => {
    bar.value = total > 0 ? arrived / total : 1;
    const share = `${megabytes(arrived)} of ${megabytes(total)} MB`;
    amount.textContent = why === "before" ? `Going on where it stopped: ${share}` : share;
  };
}

function megabytes(count) {
  return (count / 1e6).toLocaleString("en", { maximumFractionDigits: count < 1e7 ? 1 : 0 });
}

function sentence(error) {
  if (error instanceof TypeError) return "the connection to the dashboard was lost. Is it still running?";
  return error.message || String(error);
}

/** localStorage where the browser allows it; without it an upload is not resumed after a reload. */
function memory() {
  try {
    localStorage.setItem("tracekit-upload:test", "1");
    localStorage.removeItem("tracekit-upload:test");
    return localStorage;
  } catch {
    const values = new Map();
    return {
      getItem: (key) => values.get(key) ?? null,
      setItem: (key, value) => values.set(key, value),
      removeItem: (key) => values.delete(key),
    };
  }
}
