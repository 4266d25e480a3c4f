// The ledger, for jobs in JavaScript: the same lines as `ledger.py` writes, one write each.
"use strict";
const fs = require("node:fs");

// Appends a line, as this process and at this moment; answers with the fence.
function enter(kind, lease) {
  const fence = Number(lease.token.split(".")[0]);
  const at = Number(process.hrtime.bigint()) / 1e9; // CLOCK_MONOTONIC
  const line = { kind, job: lease.jobId, attempt: lease.attempt, fence, pid: process.pid, at };
  fs.appendFileSync(process.env.CHAOS_LEDGER, JSON.stringify(line) + "\n");
  return fence;
}

module.exports = { enter };
