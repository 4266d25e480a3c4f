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
const EVERY = Math.ceil((LEASE_SECONDS * 1000) / 3); // milliseconds between heartbeats
const WORKER = `node-${process.pid}-${randomUUID()}`; // new at every start
const HEADERS = { "content-type": "application/json" };
if (process.env.TENURE_KEY) HEADERS.authorization = `Bearer ${process.env.TENURE_KEY}`;

let said = "";
const mention = (words) => words === said || console.error((said = words)); // the same again is no news

// One request; null when there was no answer.
async function call(method, path, body, milliseconds = 10_000) {
  const asked = { method, headers: HEADERS, body: JSON.stringify(body), signal: AbortSignal.timeout(milliseconds) };
  try {
    const answer = await fetch(SERVER + path, asked);
    const told = await answer.json();
    if (!answer.ok) mention(`${path}: ${told.detail}`);
    return { status: answer.status, told };
  } catch {
    mention(`no answer from ${SERVER}`);
    return null;
  }
}

// Until there is an answer: what was said twice counts once. Null when it was in vain.
async function insist(method, path, body, isWorthwhile) {
  while (isWorthwhile()) {
    const reply = await call(method, path, body);
    if (reply && reply.status < 500 && reply.status !== 429) return reply;
    await sleep(250);
  }
  return null;
}

// Text as the server takes it: no NUL, no half of a character.
const text = (value, ...cut) => Buffer.from(String(value).slice(...cut)).toString().replaceAll("\0", "");

// One attempt: runs the handler, keeps the lease meanwhile, and tells how it ended as long as anybody wants to know.
function attempt(lease, run, claimedAt) {
  const stop = new AbortController();
  const halt = (why) => stop.signal.aborted || stop.abort(why);
  let expiry;
  let heldUntil = performance.now() + lease.leaseSeconds * 1000; // by our own clock: nobody may be there to tell us
  const hold = (askedAt, seconds) => {
    heldUntil = askedAt + seconds * 1000;
    clearTimeout(expiry);
    expiry = setTimeout(halt, heldUntil - performance.now(), "lost").unref();
  };
  const tell = (verb, body) => {
    const isHeld = () => performance.now() < heldUntil;
    return insist("POST", `/v1/leases/${lease.jobId}/${verb}`, { token: lease.token, ...body }, isHeld);
  };

  async function beat() {
    const askedAt = performance.now();
    const body = { token: lease.token, leaseSeconds: LEASE_SECONDS };
    const reply = await call("POST", `/v1/leases/${lease.jobId}/heartbeat`, body, EVERY);
    if (reply?.status === 200) hold(askedAt, reply.told.leaseSeconds);
    if (reply?.told.stop) halt(reply.told.stop);
    if (reply?.status === 409 || reply?.status === 404) halt("lost");
  }

  async function ending() {
    try {
      const result = (await run(lease.params, { ...lease, signal: stop.signal })) ?? null;
      JSON.stringify(result); // what is no JSON is a failure of this attempt, not of the worker
      return ["complete", { result }];
    } catch (error) {
      if (["cancelled", "shutdown"].includes(stop.signal.reason)) return ["release", {}];
      const { name, message, stack, retryable } = error instanceof Error ? error : { message: inspect(error) };
      const told = { type: text(name ?? "Error"), message: text(message, 0, 2000), traceback: text(stack ?? "", -8000) };
      return ["fail", { error: told, retryable }]; // where we do not say whether to try again, the definition does
    }
  }

  async function live() {
    if (performance.now() - claimedAt < lease.leaseSeconds * 333) hold(claimedAt, lease.leaseSeconds);
    else await beat(); // after a long wait for the claim it is not known when it was made
    if (expiry === undefined) return;
    const beating = setInterval(beat, EVERY);
    const [verb, body] = await ending();
    clearInterval(beating);
    const reply = stop.signal.reason === "lost" ? null : await tell(verb, body);
    if ([413, 422].includes(reply?.status)) {
      const retryable = verb === "complete" ? false : undefined; // the next result would be refused as well
      await tell("fail", { error: { type: "ReportRefused", message: reply.told.detail }, retryable });
    }
    clearTimeout(expiry);
  }
  return { halt, tell, live };
}

// Serves definitions, by key: { version, terms, run(params, lease) }. Returns when told to stop and all is given back.
async function work(kinds) {
  const running = new Map();
  let isOpen = true;
  const leave = () => {
    isOpen = false;
    for (const one of running.keys()) one.halt("shutdown");
  };
  process.on("SIGTERM", leave).on("SIGINT", leave);
  for (const [key, { version = 1, terms }] of Object.entries(kinds)) {
    const reply = terms && (await insist("PUT", `/v1/definitions/${key}/${version}`, terms, () => isOpen));
    if (reply && reply.status !== 200) throw new Error(`${key}: ${reply.told.detail}`);
  }
  const definitions = Object.keys(kinds).map((key) => {
    return { definitionKey: key, definitionVersion: kinds[key].version ?? 1 };
  });
  while (isOpen) {
    const order = { workerId: WORKER, definitions, limit: SLOTS - running.size, leaseSeconds: LEASE_SECONDS };
    const askedAt = performance.now();
    const reply = await call("POST", `/v1/leases?waitSeconds=${WAIT_SECONDS}`, order, WAIT_SECONDS * 1000 + 10_000);
    for (const lease of reply?.told.leases ?? []) {
      const one = attempt(lease, kinds[lease.definitionKey].run, askedAt);
      const life = isOpen ? one.live() : one.tell("release", { started: false });
      running.set(one, life.finally(() => running.delete(one)));
    }
    if (reply?.told.drain) break; // an operator wants us to claim no more
    if (isOpen && reply?.status !== 200) await sleep(500);
    if (running.size >= SLOTS) await Promise.race(running.values());
  }
  await Promise.all(running.values());
}

module.exports = { work, WORKER };

if (require.main === module) {
  const count = async ({ text = "" }) => ({ words: text.split(/\s+/).filter(Boolean).length });
  work({ "text.count": { terms: { timeoutSeconds: 60 }, run: count } });
}
