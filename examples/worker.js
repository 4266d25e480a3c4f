// A worker for Tenure in plain JavaScript, for Node 18 or later, without packages: `node worker.js`, or
// `require("./worker.js").work({...})` with definitions of your own. docs/how-to/workers-in-any-language.md tells why.
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

// Sends a request; where it is not answered, or the server has no time, sends it again while that is worthwhile: what
// was said twice counts once. The status is 0 when there was no answer in the end.
async function call(method, path, body, { milliseconds = 10_000, isWorthwhile = () => false } = {}) {
  for (;;) {
    const asked = { method, headers: HEADERS, body: JSON.stringify(body), signal: AbortSignal.timeout(milliseconds) };
    try {
      const answer = await fetch(SERVER + path, asked);
      const told = await answer.json();
      if (!answer.ok) console.error(`${path}: ${told.detail}`);
      if (answer.status < 500 && answer.status !== 429) return { status: answer.status, told };
    } catch {
      console.error(`no answer from ${SERVER}`);
    }
    if (!isWorthwhile()) return { status: 0, told: {} };
    await sleep(250);
  }
}

// Runs a handler, and says how that ended in the words of the protocol.
async function ending(run, lease, signal) {
  if (signal.aborted) return ["release", { started: false }];
  try {
    const result = (await run(lease.params, { ...lease, signal })) ?? null;
    JSON.stringify(result); // what is no JSON is a failure of this attempt, not of the worker
    return ["complete", { result }];
  } catch (error) {
    if (signal.aborted) return ["release", {}];
    const { name = "Error", message, stack, retryable } = error instanceof Error ? error : { message: inspect(error) };
    const text = (value) => Buffer.from(String(value)).toString().replaceAll("\0", ""); // as the server takes it
    const told = { type: text(name), message: text(message), traceback: text(stack ?? "") };
    return ["fail", { error: told, retryable }]; // where we do not say whether to try again, the definition does
  }
}

// One attempt: keeps its lease while it runs, and tells how it ended as long as anybody wants to know.
async function attempt(run, lease, stop, heldUntil) {
  const over = new AbortController();
  const left = () => heldUntil - performance.now(); // by our own clock: nobody may be there to tell us
  const tell = (verb, body, how = { isWorthwhile: () => left() > 0 }) =>
    call("POST", `/v1/leases/${lease.jobId}/${verb}`, { token: lease.token, ...body }, how);

  async function keep() {
    while (left() > 0) {
      await sleep(Math.min(left(), left() / 3 + 50, 30_000), null, { signal: over.signal }).catch(() => {});
      if (over.signal.aborted) return;
      if (left() <= 0) break; // we stood still
      const askedAt = performance.now();
      const how = { milliseconds: Math.ceil(left() / 2) };
      const { status, told } = await tell("heartbeat", { leaseSeconds: LEASE_SECONDS }, how);
      if (status === 200) heldUntil = askedAt + told.leaseSeconds * 1000;
      if (status === 404 || status === 409) heldUntil = 0;
      if (told.stop) stop.abort(told.stop);
    }
    stop.abort("lost");
  }

  keep();
  const [verb, body] = await ending(run, lease, stop.signal);
  over.abort();
  const { status, told } = await tell(verb, body);
  if (status !== 413 && status !== 422) return;
  const retryable = verb === "complete" ? false : undefined; // the next result would be refused as well
  await tell("fail", { error: { type: "ReportRefused", message: told.detail }, retryable });
}

// Serves definitions, by key: { terms, run(params, lease) }. Returns when told to stop and all is given back.
async function work(kinds) {
  const running = new Map(); // attempts, by what stops them
  let isOpen = true;
  const leave = () => {
    isOpen = false;
    for (const stop of running.keys()) stop.abort("shutdown");
  };
  process.on("SIGTERM", leave).on("SIGINT", leave);
  for (const [key, { terms }] of Object.entries(kinds)) {
    if (!terms) continue; // somebody else registers it
    const { status, told } = await call("PUT", `/v1/definitions/${key}/1`, terms, { isWorthwhile: () => isOpen });
    if (isOpen && status !== 200) throw new Error(`${key}: ${told.detail}`);
  }
  const definitions = Object.keys(kinds).map((definitionKey) => ({ definitionKey }));
  while (isOpen) {
    const order = { workerId: WORKER, definitions, limit: SLOTS - running.size, leaseSeconds: LEASE_SECONDS };
    const askedAt = performance.now();
    const how = { milliseconds: WAIT_SECONDS * 1000 + 10_000 };
    const { status, told } = await call("POST", `/v1/leases?waitSeconds=${WAIT_SECONDS}`, order, how);
    for (const lease of told.leases ?? []) {
      const stop = new AbortController();
      if (!isOpen) stop.abort("shutdown");
      const heldUntil = askedAt + (told.waitedSeconds + lease.leaseSeconds) * 1000;
      const life = attempt(kinds[lease.definitionKey].run, lease, stop, heldUntil);
      running.set(stop, life.finally(() => running.delete(stop)));
    }
    if (told.drain) break; // an operator wants us to claim no more
    if (isOpen && status !== 200) await sleep(500);
    if (running.size >= SLOTS) await Promise.race(running.values());
  }
  await Promise.all(running.values());
  await call("DELETE", `/v1/workers/${WORKER}`);
}

module.exports = { work, WORKER };

if (require.main === module) {
  const count = async ({ text = "" }) => ({ words: text.split(/\s+/).filter(Boolean).length });
  work({ "text.count": { terms: { timeoutSeconds: 60 }, run: count } });
}
