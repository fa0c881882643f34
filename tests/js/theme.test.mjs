import assert from "node:assert/strict";
import { test } from "node:test";
import { rememberedTheme, rememberTheme } from "../../tracekit/report/assets/shared/theme.js";

function storage() {
  const values = new Map();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => values.set(key, value),
    removeItem: (key) => values.delete(key),
  };
}

test("a theme is remembered until it is left to the system again", () => {
  const stored = storage();
  assert.deepEqual(rememberedTheme(stored), {});
  rememberTheme("dark", stored);
  assert.deepEqual(rememberedTheme(stored), { theme: "dark" });
  rememberTheme("auto", stored);
  assert.deepEqual(rememberedTheme(stored), {});
});

test("without a storage, or with broken that refuses, nothing is remembered and nothing fails", () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  for (const broken of [null, { getItem: refuse, setItem: refuse, removeItem: refuse }]) {
    rememberTheme("dark", broken);
    assert.deepEqual(rememberedTheme(broken), {});
  }
});
