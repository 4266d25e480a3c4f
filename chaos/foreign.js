// Some jobs of a run for a worker in JavaScript, under the very keys that workers in Python have registered.
"use strict";
const fs = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");
const { work, WORKER } = require("../examples/worker.js");
const { enter } = require("./ledger.js");

async function run({ seconds = 0 }, lease) {
  enter("start", lease);
  if (seconds) await sleep(seconds * 1000, undefined, { signal: lease.signal });
  enter("effect", lease);
  return enter("end", lease);
}

async function fail(params, lease) {
  enter("start", lease);
  throw new Error("the attempt fails");
}

work({
  noop: { run },
  sleep: { run },
  limited: { run },
  once: { run },
  fail_once: { run: (params, lease) => (lease.attempt === 1 ? fail : run)(params, lease) },
  fail_always: { run: fail },
});

// Who says that it serves has taken on signals.
const id = `${WORKER}@${process.env.TENURE_KEY.split("_")[1]}`;
const ready = { kind: "WorkerReady", at: Number(process.hrtime.bigint()) / 1e9, told: { worker: { id } } };
fs.appendFileSync(process.argv[2], JSON.stringify(ready) + "\n");
