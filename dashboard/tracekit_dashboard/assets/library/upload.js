// The upload zone: drop or choose files, with progress, cancelling and error messages.
import { make } from "/report-assets/shared/dom.js";
import { formatMegabytes } from "/report-assets/shared/numbers.js";
import { chosenItems, droppedItems } from "./dropped.js";
import { Refused, sendItems, totalBytes, uploadKey } from "./slices.js";
import { storedUploads, showUnfinished } from "./unfinished.js";

const UPLOAD_POLL_MS = 2000;

export function showUpload(place) {
  let controller = null;
  let isElsewhere = false;
  let interrupted = null; // the files of an interrupted upload, which continues when the dashboard answers again
  let key = "";
  const stored = storedUploads();
  const status = make("p", { className: "note", role: "status" }, place.dataset.hint);
  const bar = make("progress", { className: "wide", max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const amount = make("p", { className: "note", hidden: true }); // apart from the status, which screen readers read aloud at every change
  const cancel = make("button", { type: "button", hidden: true, onclick: () => (controller ? controller.abort() : stopRetrying()) }, "Cancel upload");
  const retryButton = make("button", { type: "button", hidden: true, onclick: () => start(interrupted) }, "Try again");
  const fileInput = picker({ multiple: true }, accept);
  const folderInput = picker({ webkitdirectory: true }, accept);
  const chooseFile = make("button", { type: "button", onclick: () => fileInput.click() }, "Choose a file …");
  const chooseFolder = make("button", { type: "button", onclick: () => folderInput.click() }, "Choose a folder …");
  const choices = make("div", { className: "actions" }, chooseFile, chooseFolder, retryButton, cancel);
  const zone = make("div", { className: "drop" }, choices, bar, amount, status, fileInput, folderInput);
  place.append(zone);
  acceptDrops(zone, accept, () => controller === null, announce);
  const refresh = showUnfinished(place, stored, () => (controller || interrupted ? stored.getItem(key) : null));
  addEventListener("beforeunload", (event) => {
    if ((controller && !isElsewhere) || interrupted) event.preventDefault(); // the browser asks for confirmation
  });

  function accept(selection) {
    if (controller !== null) return;
    if (selection.items.length === 0) announce("Your choice contains no file. A folder must contain the files of a recording.", true);
    else start(selection);
  }

  async function start(selection) {
    const { name, items } = selection;
    controller = new AbortController();
    key = uploadKey(name, items);
    isElsewhere = false;
    setInterrupted(null);
    setBusy(true);
    const show = progress(totalBytes(items), bar, amount);
    const onProgress = (arrived, reason) => {
      if (isElsewhere !== (reason === "elsewhere")) announce((isElsewhere = !isElsewhere) ? `Another tab is sending ${name} …` : `Sending ${name} …`);
      show(arrived, reason);
    };
    try {
      announce(`Sending ${name} …`);
      const address = await sendItems(name, items, { storage: stored, signal: controller.signal, onProgress });
      controller = null; // leaving the page needs no confirmation now
      location.assign(address);
    } catch (error) {
      if (controller.signal.aborted) announce(isElsewhere ? `The other tab continues to send ${name}.` : "Upload cancelled. Nothing was stored.");
      else if (error instanceof Refused) announce(error.message, true);
      else awaitServer(selection, error);
    } finally {
      controller = null;
      setBusy(false);
      setInterrupted(interrupted);
      refresh();
    }
  }

  /** Continues an interrupted upload once the server answers, or when the button is pressed. */
  function awaitServer(selection, error) {
    setInterrupted(selection);
    const isAway = error instanceof TypeError;
    announce(`${selection.name} is not complete: ${sentence(error)}${isAway ? " The upload continues by itself when it answers." : ""}`, true);
    if (!isAway) return;
    const timer = setInterval(async () => {
      const isAlive = interrupted === selection && (await fetch("/api/alive", { method: "HEAD" }).then(() => true, () => false));
      if (interrupted !== selection || !zone.isConnected) clearInterval(timer);
      else if (isAlive && !controller) start(selection);
    }, UPLOAD_POLL_MS);
  }

  function setInterrupted(selection) {
    interrupted = selection;
    retryButton.hidden = cancel.hidden = selection === null;
  }

  function stopRetrying() {
    setInterrupted(null);
    announce("Stopped. The part sent so far is listed below when the dashboard answers.");
    refresh();
  }

  function setBusy(isBusy) {
    bar.hidden = cancel.hidden = amount.hidden = !isBusy;
    chooseFile.disabled = chooseFolder.disabled = isBusy;
    zone.setAttribute("aria-busy", String(isBusy));
  }

  function announce(text, isProblem = false) {
    status.textContent = text;
    status.className = isProblem ? "problem" : "note";
  }
}

function picker(properties, accept) {
  const input = make("input", { type: "file", hidden: true, ...properties });
  input.addEventListener("change", () => {
    const selection = chosenItems(input.files);
    input.value = "";
    accept(selection);
  });
  return input;
}

function acceptDrops(zone, accept, isFree, announce) {
  addEventListener("dragover", (event) => {
    event.preventDefault(); // a file dropped beside the zone would replace the page
    zone.classList.toggle("over", zone.contains(event.target));
  });
  addEventListener("dragleave", () => zone.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (!zone.contains(event.target) || !isFree()) return;
    announce("Reading the dropped files …");
    droppedItems(event.dataTransfer)
      .then(accept)
      .catch((error) => announce(`The dropped files cannot be read: ${sentence(error)}`, true));
  });
}

function progress(total, bar, amount) {
  return (arrived, reason) => {
    bar.value = total > 0 ? arrived / total : 1;
    const share = `${formatMegabytes(arrived)} of ${formatMegabytes(total)} MB`;
    const beginnings = { before: "Continuing where it stopped: ", compared: "Comparing the file with what was sent before: " };
    amount.textContent = `${beginnings[reason] ?? ""}${share}`;
  };
}

function sentence(error) {
  if (error instanceof TypeError) return "the connection to the dashboard was lost. Is it still running?";
  return error.message || String(error);
}
