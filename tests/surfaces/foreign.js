// Jobs for a worker in JavaScript that is killed at random: each says in a file what it has done, and under which fence.
"use strict";
const { setTimeout: sleep } = require("node:timers/promises");
const { work } = require("../../examples/worker.js");
const { enter } = require("../../chaos/ledger.js");

async function nap({ seconds }, lease) {
  enter("start", lease);
  await sleep(seconds * 1000, undefined, { signal: lease.signal });
  enter("effect", lease);
  return enter("end", lease);
}

async function stumble(params, lease) {
  if (lease.attempt > 1) return nap(params, lease);
  enter("start", lease);
  throw new RangeError("the first attempt fails");
}

async function refuse(params, lease) {
  enter("start", lease);
  throw Object.assign(new TypeError("never"), { retryable: false });
}

const retry = { baseSeconds: 0.02, capSeconds: 0.2 };
work({
  nap: { terms: { maxAttempts: 10, graceSeconds: 1, retry }, run: nap },
  once: { terms: { onLost: "bury" }, run: nap },
  stumble: { terms: { maxAttempts: 10, retry }, run: stumble },
  refuse: { terms: { retry }, run: refuse },
});
