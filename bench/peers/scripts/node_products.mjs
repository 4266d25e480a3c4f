// Graphile Worker and pg-boss: `node node_products.mjs PRODUCT COMMAND ...`, with the commands of driving.py.
// Both are batched as their documentation advises for small jobs.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const [productName, command, count, stamps] = process.argv.slice(2);
const address = process.env.BENCH_ADDRESS;
const installed = createRequire(process.env.BENCH_NODE_FOLDER + '/');
const AT_ONCE = 1000;
const PAUSES = [50, 150];
const LONGEST = 20_000;

/** Adds this moment to a file, as stamps.py does: the clock that all processes share, in nanoseconds. */
function stamp(file) {
  const moment = Buffer.alloc(8);
  moment.writeBigInt64LE(process.hrtime.bigint());
  const descriptor = fs.openSync(file, 'a');
  fs.writeSync(descriptor, moment);
  fs.closeSync(descriptor);
}

class Graphile {
  #library = installed('graphile-worker');
  #preset = {
    worker: {
      connectionString: address,
      concurrentJobs: 24,
      maxPoolSize: 26,
      pollInterval: 1000,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new this.#library.Logger(() => () => {}),
    },
  };
  #tools;

  async prepare() {
    await this.open();
    await this.#tools.migrate();
    await this.close();
  }
  async open() { this.#tools = await this.#library.makeWorkerUtils({ preset: this.#preset }); }
  one(file) { return this.#tools.addJob('stamp', { file }); }
  many(file, jobs) {
    return this.#tools.addJobs(Array.from({ length: jobs }, () => ({ identifier: 'stamp', payload: { file } })));
  }
  close() { return this.#tools.release(); }
  async work() {
    const taskList = { stamp: async ({ file }) => stamp(file) };
    const runner = await this.#library.run({ preset: this.#preset, taskList });
    await runner.promise;
  }
}

class PgBoss {
  #boss;

  async prepare() {
    await this.open();
    await this.#boss.createQueue('stamp', { notify: true });
    await this.close();
  }
  async open() {
    const library = await import(installed.resolve('pg-boss'));
    this.#boss = new library.PgBoss({ connectionString: address, useListenNotify: true });
    this.#boss.on('error', console.error);
    await this.#boss.start();
  }
  one(file) { return this.#boss.send('stamp', { file }); }
  many(file, jobs) { return this.#boss.insert('stamp', Array.from({ length: jobs }, () => ({ data: { file } }))); }
  close() { return this.#boss.stop({ graceful: false }); }
  async work() {
    await this.open();
    const batched = { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    await this.#boss.work('stamp', batched, async (jobs) => { for (const { data } of jobs) stamp(data.file); });
    await new Promise(() => {});
  }
}

async function timed(work) {
  const began = process.hrtime.bigint(), before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: Number(process.hrtime.bigint() - began) / 1e9, cpu: (user + system) / 1e6 };
}

async function bulk(product, jobs) {
  for (let done = 0; done < jobs; done += AT_ONCE) await product.many(stamps, Math.min(AT_ONCE, jobs - done));
}

async function singly(product, jobs) {
  for (let done = 0; done < jobs; done++) await product.one(stamps);
}

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
const size = () => (fs.existsSync(stamps) ? fs.statSync(stamps).size : 0);

/** Milliseconds from before each call to the job's first line. The first job is to wake everybody up. */
async function starts(product, jobs) {
  const found = [];
  for (let number = 0; number <= jobs; number++) {
    await pause(PAUSES[0] + Math.random() * (PAUSES[1] - PAUSES[0]));
    const before = size(), called = process.hrtime.bigint();
    await product.one(stamps);
    for (let waited = 0; size() === before; waited++) {
      if (waited > LONGEST) throw new Error('a job had not begun long after it was enqueued');
      await pause(1);
    }
    if (number) found.push(Number(fs.readFileSync(stamps).readBigInt64LE(before) - called) / 1e6);
  }
  return found;
}

async function asked(product, jobs) {
  switch (command) {
    case 'fill': return timed(() => bulk(product, jobs));
    case 'bulk': await product.many(stamps, 1); return timed(() => bulk(product, jobs));
    case 'singly': await product.one(stamps); return timed(() => singly(product, jobs));
    case 'starts': return starts(product, jobs);
    default: throw new Error(`${command}: not one of prepare, fill, bulk, singly, starts, work`);
  }
}

const product = productName === 'graphile' ? new Graphile() : new PgBoss();
if (command === 'work') {
  await product.work();
} else if (command === 'prepare') {
  await product.prepare();
  process.exit(0);
} else {
  await product.open();
  const answer = await asked(product, Number(count));
  await product.close();
  process.stdout.write(JSON.stringify(answer) + '\n', () => process.exit(0));
}
