// The bar of a recording's page that says which part of the recording was analysed, and how: each choice opens the
// dialog that changes it. While another analysis is made, the shown one stays.
import { make } from "/report-assets/shared/dom.js";
import { formatDuration } from "/report-assets/shared/numbers.js";
import { createAnalyses } from "./analysis_requests.js";
import { createOptionsDialog, SOURCE_NAMES } from "./options_dialog.js";

/** Counted stacks of a text have no times, so that nothing can begin or end a call. */
const hasTimes = (choices) => choices.samples_source !== "stack-counts";
/** The choices of the bar: name, text where nothing is chosen, the options that it stands for, and when it is of use. */
const OPTION_CHOICES = [
  ["Run", (choices) => `${choices.run ?? 1}`, ["run"], (choices) => choices.runs?.length > 1],
  ["Process", () => "all", ["process"], (choices) => choices.processes?.length > 1],
  ["Thread", () => "all", ["thread"], (choices) => choices.threads?.length > 1],
  ["Samples", (choices) => choices.samples_source || "none", ["samples"], (choices) => choices.samples?.length > 1],
  ["Calls from", () => "automatic", ["windows", "window-signpost", "window", "windows-csv"], hasTimes],
  ["Symbols", () => "", ["symbols"], () => false],
  ["Laid over", () => "", ["with"], () => false],
  ["Model", () => "", ["model"], () => false],
  ["Plan", () => "", ["plan"], () => false],
  ["Moved by", () => "", ["offset"], () => false],
  ["Language model", () => "", ["request-spans"], () => false],
  ["Rules", () => "built-in", ["markers"], () => true],
  ["Compute units", () => "", ["compute-units"], () => false],
];

/** Fills the bar; returns { analyse(options), analyseWith(changes), open(option), useSignposts(lane) } for other parts of the page. */
export function showOptions(container, { analysis, awaited, store = null }) {
  const analyses = createAnalyses(analysis);
  const choicesBar = make("div", { className: "choices" });
  const work = make("div", { className: "analysis-work", role: "status" });
  container.replaceChildren(choicesBar, work);
  for (const hint of ["pointerenter", "focusin"]) choicesBar.addEventListener(hint, analyses.prepare);
  let choices = {};
  let listed = { default: "", analyses: [] };
  let following = null;

  const shown = () => listed.analyses.find(({ id }) => id === analyses.variant);
  const options = () => shown()?.options ?? {};
  const dialog = createOptionsDialog((chosen, files) => start(chosen, files));
  const openDialog = (name) => dialog.open({ choices, options: options() }, name);

  function fail(error) {
    const close = make("button", { type: "button", onclick: () => work.replaceChildren() }, "Close");
    work.replaceChildren(make("p", { className: "problem", role: "alert" }, error.message), close);
  }

  /** Runs an action of a button; its failure becomes a sentence. */
  const attempt = (action) => async () => {
    try {
      await action();
    } catch (error) {
      fail(error);
    }
  };

  /** Requests an analysis and opens its page once it is made; throws if the request is refused. */
  async function start(chosen, files = {}) {
    const state = await analyses.request(chosen, files);
    if (state.id === analyses.variant) return;
    if (!state.id || state.state === "ready") analyses.open(state.id);
    else follow(state.id).catch(fail);
  }

  async function follow(id) {
    following?.abort();
    following = new AbortController();
    const { signal } = following;
    const text = make("span", {}, "Analyzing again");
    const bar = make("progress", { max: 1, "aria-label": "Progress of the analysis" });
    const cancel = make("button", { type: "button", onclick: attempt(() => analyses.cancel(id)) }, "Cancel");
    work.replaceChildren(text, bar, cancel);
    const result = await analyses.follow(id, ({ stage, progress, state }) => {
      text.textContent = state === "waiting" ? "Waiting for its turn" : `Analyzing again: ${stage}`;
      if (progress === null) bar.removeAttribute("value");
      else bar.value = progress;
    }, signal);
    if (result.state === "ready") analyses.open(id);
    else if (result.state === "failed") fail(new Error(result.message));
    else work.replaceChildren(make("span", {}, "The analysis was cancelled."));
    await refresh();
  }

  function draw() {
    const present = options();
    const parts = OPTION_CHOICES.flatMap(([name, initial, keys, isOfUse]) => {
      const chosen = keys.filter((key) => key in present);
      if (chosen.length === 0 && !isOfUse(choices)) return [];
      const value = chosen.length > 0 ? optionText(present, chosen) : initial(choices);
      const open = make("button", { type: "button", className: "choice", "aria-haspopup": "dialog", onclick: () => openDialog(keys[0]) });
      if (chosen.length === 0) open.dataset.option = keys[0];
      open.append(make("span", { className: "name" }, name), " ", make("b", {}, value), make("span", { "aria-hidden": "true" }, " ▾"));
      open.title = `${name}: ${value}`;
      if (chosen.length === 0) return [open];
      const rest = Object.fromEntries(Object.entries(present).filter(([key]) => !keys.includes(key)));
      const remove = make("button", { type: "button", className: "remove", "aria-label": `${name}: back to the default`, onclick: attempt(() => start(rest)) }, "✕");
      return [make("span", { className: "chip" }, open, remove)];
    });
    const isMenuOpen = choicesBar.querySelector(".more-choices")?.open ?? false; // it stays open when it is drawn again
    const isInMenu = (part) => part.matches("[data-option='markers']");
    const menu = [...parts.filter(isInMenu), ...rangeButton()];
    const summary = make("summary", { "aria-label": "More choices", title: "More choices" }, "⋯");
    const more = make("details", { className: "downloads more-choices", open: isMenuOpen }, summary, make("div", { className: "menu-body" }, ...menu));
    choicesBar.replaceChildren(...parts.filter((part) => !isInMenu(part)), ...(menu.length > 0 ? [more] : []), ...others());
  }

  /** It is there without a selection too: the bar, and all that is below it, keeps its place. */
  function rangeButton() {
    if (!store || !hasTimes(choices)) return [];
    const { range } = store.state;
    const isChosen = range !== null && range.isDone !== false;
    const text = isChosen ? `${Math.floor(range.from)}ns-${Math.ceil(range.to)}ns` : "";
    const onclick = attempt(() => start({ ...withoutCalls(options()), window: [text] }));
    const title = isChosen ? `Analyze ${formatDuration(range.to - range.from)} as one call` : "Select a range in the timeline first";
    return [make("button", { type: "button", onclick, disabled: !isChosen, title }, "Analyze selection as one call")];
  }

  /** The list of the recording's analyses, if there are several. */
  function others() {
    if (listed.analyses.length === 0) return [];
    const rows = [{ id: "", described: [], state: "ready" }, ...listed.analyses].map(analysisRow);
    const summary = make("summary", {}, `${rows.length} analyses`);
    const open = choicesBar.querySelector(".analyses")?.open ?? false; // it stays open when it is drawn again
    return [make("details", { className: "downloads analyses", open }, summary, make("ul", {}, ...rows, sideBySide()))];
  }

  /** A link to the numbers of all analyses that are ready, one beside the other. */
  function sideBySide() {
    const ready = listed.analyses.filter(({ state }) => state === "ready").map(({ id }) => `${analyses.recording}.${id}`);
    const href = `/trend/${[analyses.recording, ...ready].join("/")}`;
    return make("li", {}, make("a", { href }, "Numbers side by side"));
  }

  function analysisRow({ id, described, state }) {
    const name = described.map(([option, value]) => `${optionLabel(option)} ${option === "windows" ? (SOURCE_NAMES[value] ?? value) : value}`).join(", ") || "First analysis";
    const isShown = id === analyses.variant;
    const link = make("a", { href: `?variant=${id || "first"}` }, name);
    if (isShown) link.setAttribute("aria-current", "page");
    const parts = [link];
    if (state !== "ready") parts.push(make("span", { className: "note" }, ` (${state})`));
    const button = (text, action) => make("button", { type: "button", "aria-label": `${text}: ${name}`, onclick: attempt(action) }, text);
    if (id === listed.default) parts.push(make("span", { className: "note" }, " default"));
    else if (state === "ready") parts.push(" ", button("Make default", () => analyses.makeDefault(id).then(refresh)));
    if (id) {
      const remove = async () => {
        await analyses.remove(id);
        if (isShown) analyses.open("");
        else await refresh();
      };
      parts.push(" ", button("Remove", remove));
    }
    return make("li", {}, ...parts);
  }

  async function refresh() {
    listed = await analyses.list();
    draw();
  }

  const ready = (async () => {
    [choices, listed] = await Promise.all([analyses.choices(), analyses.list()]);
    draw();
    if (awaited) {
      const state = listed.analyses.find(({ id }) => id === awaited);
      if (state?.state === "failed") fail(new Error(state.message));
      else await follow(awaited);
    }
  })().catch(fail);
  store?.on(["range"], draw);

  return {
    ready,
    prepare: analyses.prepare,
    /** Requests the present analysis with other options; a failure is shown in the bar. */
    analyseWith: (changed) => attempt(() => start({ ...withoutCalls(options()), ...changed }))(),
    /** Requests an analysis with these options alone. */
    analyse: (chosen) => attempt(() => start(chosen))(),
    open: (name) => openDialog(name),
    /** Requests the present analysis with files, by the names of their options; throws the sentence of a refusal. */
    analyseWithFiles: (files) => start(withoutOptions(options(), Object.keys(files)), files),
    /** The intervals of a signpost lane, which is named subsystem/category, as the calls. */
    useSignposts(lane) {
      const patterns = (choices.signposts ?? []).filter(([subsystem, category]) => `${subsystem}/${category}` === lane);
      if (patterns.length === 0) return openDialog("windows");
      return this.analyseWith({ "window-signpost": patterns.map((parts) => parts.slice(0, 3).join("/")) });
    },
  };
}

/** The button at a lane of signposts that makes its intervals the calls; null at other lanes. */
export function callsButton(row, optionsBar) {
  if (row.kind !== "signposts") return null;
  const onclick = () => optionsBar()?.useSignposts(row.label);
  const onpointerenter = () => optionsBar()?.prepare();
  return make("button", { type: "button", className: "use-calls", onclick, onpointerenter, "aria-label": `${row.label}: use as calls` }, "use as calls");
}

/** Where the first analysis failed there is no bar: follows the one that the address names. */
export function awaitAnalysis(element) {
  showOptions(element, { analysis: element.dataset.recording, awaited: element.dataset.awaited });
}

/** The bar's name of an option. */
function optionLabel(option) {
  return OPTION_CHOICES.find(([, , keys]) => keys.includes(option))?.[0] ?? option;
}

const withoutCalls = (options) => withoutOptions(options, ["windows", "window-signpost", "window", "windows-csv"]);

function withoutOptions(options, names) {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));
}

function optionText(options, keys) {
  const value = options[keys[0]];
  if (keys[0] === "windows") return SOURCE_NAMES[value] ?? value;
  if (Array.isArray(value)) return value.length === 1 ? value[0] : `${value[0]} and ${value.length - 1} more`;
  return typeof value === "object" ? value.name : String(value);
}
