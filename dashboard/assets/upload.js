// The place for uploads: drop or choose, watch it go, cancel; what went wrong in a sentence.
import { make } from "/report-assets/dom.js";
import { chosenItems, droppedItems } from "./dropped.js";
import { Refused, sendItems, totalBytes, uploadKey } from "./slices.js";
import { keptUploads, megabytes, showUnfinished } from "./unfinished.js";

const HINT =
  "A .trace, zipped (right-click, Compress) or as a folder; an xctrace export (.xml, .xml.gz) or a folder of them; a tracekit pack.";

const LOOK_MS = 2000;

export function showUpload(place) {
  let controller = null;
  let isElsewhere = false;
  let lost = null; // what goes on when the dashboard answers again
  let key = "";
  const kept = keptUploads();
  const status = make("p", { className: "note", role: "status" }, HINT);
  const bar = make("progress", { className: "wide", max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const amount = make("p", { className: "note", hidden: true }); // beside the status, which would be read out at every slice
  const cancel = make("button", { type: "button", hidden: true, onclick: () => (controller ? controller.abort() : giveUp()) }, "Cancel upload");
  const again = make("button", { type: "button", hidden: true, onclick: () => start(lost) }, "Try again");
  const fileInput = picker({ multiple: true }, take);
  const folderInput = picker({ webkitdirectory: true }, take);
  const chooseFile = make("button", { type: "button", onclick: () => fileInput.click() }, "Choose a file …");
  const chooseFolder = make("button", { type: "button", onclick: () => folderInput.click() }, "Choose a folder …");
  const choices = make("div", { className: "actions" }, chooseFile, chooseFolder, again, cancel);
  const zone = make("div", { className: "drop" }, choices, bar, amount, status, fileInput, folderInput);
  place.append(zone);
  acceptDrops(zone, take, () => controller === null, tell);
  const refresh = showUnfinished(place, kept, () => (controller || lost ? kept.getItem(key) : null));
  addEventListener("beforeunload", (event) => {
    if ((controller && !isElsewhere) || lost) event.preventDefault(); // the browser asks whether to leave
  });

  function take(found) {
    if (controller !== null) return;
    if (found.items.length === 0) tell("There was no file in what you chose. A folder must hold the files of a recording.", true);
    else start(found);
  }

  async function start(found) {
    const { name, items } = found;
    controller = new AbortController();
    key = uploadKey(name, items);
    isElsewhere = false;
    setLost(null);
    setBusy(true);
    const show = progress(totalBytes(items), bar, amount);
    const onProgress = (arrived, why) => {
      if (isElsewhere !== (why === "elsewhere")) tell((isElsewhere = !isElsewhere) ? `Another tab is sending ${name} …` : `Sending ${name} …`);
      show(arrived, why);
    };
    try {
      tell(`Sending ${name} …`);
      const address = await sendItems(name, items, { kept, signal: controller.signal, onProgress });
      controller = null; // one may leave now
      location.assign(address);
    } catch (error) {
      if (controller.signal.aborted) tell(isElsewhere ? `The other tab goes on sending ${name}.` : "Cancelled: nothing of it was kept.");
      else if (error instanceof Refused) tell(error.message, true);
      else awaitServer(found, error);
    } finally {
      controller = null;
      setBusy(false);
      setLost(lost);
      refresh();
    }
  }

  /** What was lost is sent again by itself, or when somebody presses the button. */
  function awaitServer(found, error) {
    setLost(found);
    const isAway = error instanceof TypeError;
    tell(`${found.name} is not complete: ${sentence(error)}${isAway ? " The upload goes on by itself when it answers." : ""}`, true);
    if (!isAway) return;
    const timer = setInterval(async () => {
      const isThere = lost === found && (await fetch("/api/alive", { method: "HEAD" }).then(() => true, () => false));
      if (lost !== found || !zone.isConnected) clearInterval(timer);
      else if (isThere && !controller) start(found);
    }, LOOK_MS);
  }

  function setLost(found) {
    lost = found;
    again.hidden = cancel.hidden = found === null;
  }

  function giveUp() {
    setLost(null);
    tell("Stopped. What was sent so far is listed below when the dashboard answers.");
    refresh();
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

function sentence(error) {
  if (error instanceof TypeError) return "the connection to the dashboard was lost. Is it still running?";
  return error.message || String(error);
}
