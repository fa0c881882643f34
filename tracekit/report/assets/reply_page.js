// A tool's reply inside a chat (MCP Apps, revision 2026-01-26): shows the markup that a result brings, in the
// host's theme. The host is the window around this frame; nothing else is asked or loaded.
import { setTheme } from "./shared/theme.js";

const MARKUP_KEY = "tracekit/markup";
const HANDSHAKE = 1;
const HANDLERS = {
  "ui/notifications/tool-result": showReply,
  "ui/notifications/tool-cancelled": ({ reason }) => showText(`Cancelled. ${reason ?? ""}`),
  "ui/notifications/host-context-changed": applyContext,
};

function sendToHost(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

/** Shows a tool's result: its markup, which the server has escaped, else its text. */
function showReply({ _meta: meta, content }) {
  const markup = meta?.[MARKUP_KEY];
  if (typeof markup !== "string") {
    showText((content ?? []).map(({ text }) => text ?? "").join("\n"));
    return;
  }
  // Scripts of a parsed document never run, and the page's policy forbids them besides.
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  document.querySelector("main").replaceChildren(...parsed.body.childNodes);
}

function showText(text) {
  const paragraphs = text.split("\n").map((line) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = line;
    return paragraph;
  });
  document.querySelector("main").replaceChildren(...paragraphs);
}

function applyContext(context) {
  if (context?.theme) setTheme(context.theme);
}

function handleMessage({ source, data }) {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.id === HANDSHAKE && data.result) {
    applyContext(data.result.hostContext);
    sendToHost({ method: "ui/notifications/initialized", params: {} });
  } else if (data.method === "ui/resource-teardown" || data.method === "ping") {
    sendToHost({ id: data.id, result: {} });
  } else {
    HANDLERS[data.method]?.(data.params ?? {});
  }
}

function reportSize() {
  const { width, height } = document.body.getBoundingClientRect();
  const params = { width: Math.ceil(width), height: Math.ceil(height) };
  sendToHost({ method: "ui/notifications/size-changed", params });
}

window.addEventListener("message", handleMessage);
new ResizeObserver(reportSize).observe(document.body);
sendToHost({
  id: HANDSHAKE,
  method: "ui/initialize",
  params: {
    protocolVersion: "2026-01-26",
    appInfo: { name: "tracekit", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
  },
});
