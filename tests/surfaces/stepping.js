// A worker whose handler keeps its parts as steps, and whose process is killed after the second one: the worker that
// takes over runs the others alone. Each part that runs is a line of the ledger.
"use strict";
const { appendFileSync, existsSync, writeFileSync } = require("node:fs");
const { work } = require("../../examples/worker.js");

const LEDGER = process.env.STEPS_LEDGER;
const LONG = "x".repeat(5000); // too long to be brought along with the others

async function parts(_params, { step }) {
  const results = [];
  for (let n = 0; n < 4; n += 1) {
    const result = await step(`part ${n}`, () => {
      appendFileSync(LEDGER, `${n}\n`);
      return n === 0 ? LONG : n;
    });
    results.push(n === 0 ? result.length : result);
    if (n === 1 && !existsSync(`${LEDGER}.killed`)) {
      writeFileSync(`${LEDGER}.killed`, "");
      process.kill(process.pid, "SIGKILL");
    }
  }
  return results;
}

const large = async (_params, { step }) => step("large", () => "x".repeat(300_000));

work({ parts: { terms: {}, run: parts }, large: { terms: {}, run: large } });
