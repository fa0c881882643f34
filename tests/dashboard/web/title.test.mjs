// Which link of the bar on top is the page's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { currentOf } from "../../../dashboard/tracekit_dashboard/assets/shared/title.js";

test("the link of a page is current on it, and the library's on what lies below", () => {
  const of = (path) => ["/", "/record"].map((href) => currentOf(href, path));
  assert.deepEqual(of("/"), ["page", null]);
  assert.deepEqual(of("/record"), [null, "page"]);
  assert.deepEqual(of("/recordings/abc"), ["true", null]);
  assert.deepEqual(of("/compare/a/b"), ["true", null]);
  assert.deepEqual(of("/comparex"), [null, null]);
});
