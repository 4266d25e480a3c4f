// Handlers whose results or errors cannot be sent as they are.
"use strict";
const { work } = require("../../examples/worker.js");

const endings = {
  "no-json": () => ({ n: 1n }),
  huge: () => "x".repeat(3_000_000),
  halved: () => {
    throw new Error("\0" + "\u{1f600}".repeat(2000));
  },
  "no-error": () => {
    throw { name: 5, stack: 3 };
  },
  "bad-name": () => {
    throw Object.assign(new Error("m"), { name: "two\nlines" });
  },
  fine: () => 1,
};

const terms = { maxAttempts: 1, timeoutSeconds: 2, graceSeconds: 1 };
work(Object.fromEntries(Object.entries(endings).map(([key, run]) => [key, { terms, run }])));
