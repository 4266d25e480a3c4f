// A worker for Tenure in plain JavaScript, for Node 18 or later, without packages: `node worker.js`, or
// `require("./worker.js").work({...})` with definitions of your own. docs/how-to/workers-in-any-language.md says why.
"use strict";
const { randomUUID } = require("node:crypto");
const { setTimeout: sleep } = require("node:timers/promises");
const { inspect } = require("node:util");

const SERVER = process.env.TENURE_URL ?? "http://localhost:8000";
const SLOTS = Number(process.env.TENURE_SLOTS ?? 4);
const LEASE_SECONDS = Number(process.env.TENURE_LEASE_SECONDS ?? 30);
const WAIT_SECONDS = Number(process.env.TENURE_WAIT_SECONDS ?? 5);
const WORKER = `node-${process.pid}-${randomUUID()}`; // new at every start
const HEADERS = { "content-type": "application/json" };
if (process.env.TENURE_KEY) HEADERS.authorization = `Bearer ${process.env.TENURE_KEY}`;

// Sends a request. While there is no answer, or the server is too busy, and it is worthwhile, sends it again: a request
// that is sent twice counts once. The status is 0 if there is no answer in the end.
async function call(method, path, body, { milliseconds = 10_000, isWorthwhile = () => false } = {}) {
  for (;;) {
    const request = { method, headers: HEADERS, body: JSON.stringify(body), signal: AbortSignal.timeout(milliseconds) };
    try {
      const response = await fetch(SERVER + path, request);
      const answer = await response.json();
      if (!response.ok) console.error(`${path}: ${answer.detail}`);
      if (response.status < 500 && response.status !== 429) return { status: response.status, answer };
    } catch {
      console.error(`no answer from ${SERVER}`);
    }
    if (!isWorthwhile()) return { status: 0, answer: {} };
    await sleep(250);
  }
}

// Makes `step(name, part)` for an attempt: runs a part of its handler and keeps what that returns, unless an earlier
// attempt has kept it. What was kept is asked for at the first use.
function stepper(lease, how) {
  const path = `/v1/leases/${lease.jobId}/steps`;
  const token = `?token=${encodeURIComponent(lease.token)}`;
  const sure = ({ status, answer }) => {
    const retryable = status === 409 || status === 422 ? false : undefined; // it would be refused again
    if (status !== 200) throw Object.assign(new Error(answer.detail ?? "no answer"), { name: "StepRefused", retryable });
    return answer;
  };
  let known;
  return async (name, part) => {
    known ??= call("GET", path + token, undefined, how).then(sure);
    const kept = (await known).steps.find((one) => one.name === name && one.status === "done");
    const one = `${path}/${encodeURIComponent(name)}`;
    if (kept) return kept.isLong ? sure(await call("GET", one + token, undefined, how)).result : kept.result;
    const result = (await part()) ?? null;
    sure(await call("PUT", one, { token: lease.token, result }, how));
    return result;
  };
}

// Runs a handler; returns its ending as a call of the protocol.
async function ending(run, lease, signal, step) {
  if (signal.aborted) return ["release", { started: false }];
  try {
    const result = (await run(lease.params, { ...lease, signal, step })) ?? null;
    JSON.stringify(result); // a result that is not JSON fails this attempt, not the worker
    return ["complete", { result }];
  } catch (error) {
    if (signal.aborted) return ["release", {}];
    const { name = "Error", message, stack, retryable } = error instanceof Error ? error : { message: inspect(error) };
    const text = (value) => Buffer.from(String(value)).toString().replaceAll("\0", ""); // as the server accepts it
    const report = { type: text(name), message: text(message), traceback: text(stack ?? "") };
    return ["fail", { error: report, retryable }]; // without `retryable` the definition decides whether to try again
  }
}

// One attempt: keeps its lease while it runs, and reports its ending while the lease lasts.
async function attempt(run, lease, stop, heldUntil) {
  const over = new AbortController();
  const left = () => heldUntil - performance.now(); // by our own clock: the server may not answer
  const whileHeld = { isWorthwhile: () => left() > 0 };
  const send = (verb, body, how = whileHeld) =>
    call("POST", `/v1/leases/${lease.jobId}/${verb}`, { token: lease.token, ...body }, how);

  async function keep() {
    while (left() > 0) {
      await sleep(Math.min(left(), left() / 3 + 50, 30_000), null, { signal: over.signal }).catch(() => {});
      if (over.signal.aborted) return;
      if (left() <= 0) break; // this process was suspended
      const sentAt = performance.now();
      const how = { milliseconds: Math.ceil(left() / 2) };
      const { status, answer } = await send("heartbeat", { leaseSeconds: LEASE_SECONDS }, how);
      if (status === 200) heldUntil = sentAt + answer.leaseSeconds * 1000;
      if (status === 404 || status === 409) heldUntil = 0;
      if (answer.stop) stop.abort(answer.stop);
    }
    stop.abort("lost");
  }

  keep();
  const [verb, body] = await ending(run, lease, stop.signal, stepper(lease, whileHeld));
  over.abort();
  const { status, answer } = await send(verb, body);
  if (status !== 413 && status !== 422) return;
  const retryable = verb === "complete" ? false : undefined; // the next result would be refused as well
  await send("fail", { error: { type: "ReportRefused", message: answer.detail }, retryable });
}

// Serves definitions, by key: { terms, run(params, lease) }. Returns after a signal, when all jobs are given back.
async function work(kinds) {
  const running = new Map(); // attempts, by what stops them
  let isOpen = true;
  const leave = () => {
    isOpen = false;
    for (const stop of running.keys()) stop.abort("shutdown");
  };
  process.on("SIGTERM", leave).on("SIGINT", leave);
  for (const [key, { terms }] of Object.entries(kinds)) {
    if (!terms) continue; // another worker registers it
    const { status, answer } = await call("PUT", `/v1/definitions/${key}/1`, terms, { isWorthwhile: () => isOpen });
    if (isOpen && status !== 200) throw new Error(`${key}: ${answer.detail}`);
  }
  const definitions = Object.keys(kinds).map((definitionKey) => ({ definitionKey }));
  while (isOpen) {
    const order = { workerId: WORKER, definitions, limit: SLOTS - running.size, leaseSeconds: LEASE_SECONDS };
    const sentAt = performance.now();
    const how = { milliseconds: WAIT_SECONDS * 1000 + 10_000 };
    const { status, answer } = await call("POST", `/v1/leases?waitSeconds=${WAIT_SECONDS}`, order, how);
    for (const lease of answer.leases ?? []) {
      const stop = new AbortController();
      if (!isOpen) stop.abort("shutdown");
      const heldUntil = sentAt + (answer.waitedSeconds + lease.leaseSeconds) * 1000;
      const life = attempt(kinds[lease.definitionKey].run, lease, stop, heldUntil);
      running.set(stop, life.finally(() => running.delete(stop)));
    }
    if (answer.drain) break; // an operator drains this worker
    if (isOpen && status !== 200) await sleep(500);
    if (running.size >= SLOTS) await Promise.race(running.values());
  }
  await Promise.all(running.values());
  await call("DELETE", `/v1/workers/${WORKER}`);
}

module.exports = { work, WORKER };

if (require.main === module) {
  const count = async ({ text = "" }, { step }) => {
    const words = await step("split", () => text.split(/\s+/).filter(Boolean));
    return { words: words.length };
  };
  work({ "text.count": { terms: { timeoutSeconds: 60 }, run: count } });
}
