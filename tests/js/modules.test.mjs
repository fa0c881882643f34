// What the bundler and the Content-Security-Policy rely on.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const ASSETS = new URL("../../tracekit/report/assets/", import.meta.url);
const MODULES = readdirSync(ASSETS, { recursive: true }).filter((name) => name.endsWith(".js"));
const textOf = (name) => readFileSync(new URL(name, ASSETS), "utf8");

test("top-level names are unique over all modules", () => {
  const owners = new Map();
  for (const name of MODULES) {
    for (const [, word] of textOf(name).matchAll(/^(?:export )?(?:async )?(?:function|const|let|class) (\w+)/gm)) {
      assert.ok(!owners.has(word), `${word} is in ${owners.get(word)} and ${name}`);
      owners.set(word, name);
    }
  }
  assert.ok(owners.size > 100);
});

for (const name of MODULES) {
  test(`${name} can be bundled, and makes no markup from text`, () => {
    const text = textOf(name);
    for (const line of text.split("\n").filter((each) => /^(import|export)\b/.test(each))) {
      assert.match(line, /^(import \{ .+ \} from "\.{1,2}\/[a-z_/]+\.js";|export (async )?(function|const) .*)$/);
    }
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|import\(/);
    assert.doesNotMatch(text, /fetch\(|XMLHttpRequest|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    assert.ok(text.split("\n").length < 300);
    // The bundler drops whole-line comments, so no template may have a line that looks like one.
    for (const [template] of text.replaceAll(/^\s*(\/\/.*|\/\*\*[^]*?\*\/)$/gm, "").matchAll(/`[^`]*`/g)) {
      assert.doesNotMatch(template, /^\s*(\/\/|\/\*\*)/m);
    }
  });
}
