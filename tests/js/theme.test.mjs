import assert from "node:assert/strict";
import { test } from "node:test";
import { rememberedTheme, rememberTheme } from "../../tracekit/report/assets/theme.js";

function storage() {
  const values = new Map();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => values.set(key, value),
    removeItem: (key) => values.delete(key),
  };
}

test("a theme is remembered until it is left to the system again", () => {
  const kept = storage();
  assert.deepEqual(rememberedTheme(kept), {});
  rememberTheme("dark", kept);
  assert.deepEqual(rememberedTheme(kept), { theme: "dark" });
  rememberTheme("auto", kept);
  assert.deepEqual(rememberedTheme(kept), {});
});

test("without a storage, or with one that refuses, nothing is remembered and nothing fails", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  for (const one of [null, { getItem: refuse, setItem: refuse, removeItem: refuse }]) {
    rememberTheme("dark", one);
    assert.deepEqual(rememberedTheme(one), {});
  }
});
