// The part of engine.py that runs inside QuickJS, around LiquidJS.
//
// Python cannot be called from here while a time limit is set. What only Python knows is therefore asked for: the first
// rendering goes on without the answer, its result is dropped, and the next one has the answer.
"use strict";

const MAX_SOURCE = 100_000;
const MAX_NESTING = 50;
const MOST_ENGINES = 8;
const MOST_TEMPLATES = 256;
const MOST_TEMPLATE_TEXT = 200_000; // a template can take 400 times its length
const ISO_DATE = /^(?:\d{4}|[+-]\d{6})-(?:0[1-9]|1[0-2])-\d\d([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

const MEMORY_USED_UP = /^(?:out of memory|string too long|cannot read property 'message' of null)$/;

class LimitError extends Error {}

// One rendering. `answers` has a value for each question, by its JSON; `read` the members of lazy objects.
const NO_JOB = { limits: {} };
let job = NO_JOB;
let wanted = new Map();
let read = new Map();
let steps = 0;
let depth = 0;
let randomState;
let place = null; // the token that is being rendered, for what cannot be caught

function ask(...question) {
  const key = JSON.stringify(question);
  if (!job.answers.has(key)) wanted.set(key, question);
  return job.answers.get(key);
}

function spend(count) {
  steps += count;
  if (steps > job.limits.steps) throw new LimitError(`it takes more than ${job.limits.steps} steps`);
}

// What it costs to go through a value; a list that holds itself many times over costs as often.
function spendOn(value) {
  if (typeof value === "string") spend(value.length >> 10);
  if (!Array.isArray(value)) return;
  spend(value.length);
  for (const item of value) if (Array.isArray(item)) spendOn(item);
}

// What LiquidJS finds around it: no file, no clock, no zone and no chance but those that it is given.

const SystemDate = Date;

globalThis.Date = class Date extends SystemDate {
  constructor(...parts) {
    const [value = job.now] = parts;
    const isText = typeof value === "string" || (typeof value === "object" && !(value instanceof SystemDate));
    super(isText ? Date.parse(String(value)) : value);
  }
  static now() {
    return job.now;
  }
  static parse(text) {
    const iso = ISO_DATE.exec(text);
    if (iso === null) return ask("date", text) ?? NaN;
    const [, time, zone] = iso;
    return SystemDate.parse(time && !zone ? `${text.replace(" ", "T")}Z` : text.replace(" ", "T"));
  }
  getTimezoneOffset() {
    return 0;
  }
  toLocaleString(_, { timeZone } = {}) {
    if (timeZone === undefined) return `${this.toLocaleDateString()}, ${this.toLocaleTimeString()}`;
    if (isNaN(this)) return "Invalid Date";
    const offset = timeZone === "UTC" ? 0 : ask("offset", timeZone, this.getTime());
    if (offset === null) throw new RangeError(`there is no time zone ${JSON.stringify(timeZone)}`);
    return new SystemDate(this.getTime() + (offset ?? 0)).toISOString(); // LiquidJS makes a Date of it again
  }
  toLocaleDateString() {
    return `${this.getMonth() + 1}/${this.getDate()}/${this.getFullYear()}`;
  }
  toLocaleTimeString() {
    const [hour, minute, second] = [this.getHours(), this.getMinutes(), this.getSeconds()];
    const digits = (number) => String(number).padStart(2, "0");
    return `${hour % 12 || 12}:${digits(minute)}:${digits(second)} ${hour < 12 ? "AM" : "PM"}`;
  }
};
for (const part of ["Date", "Day", "FullYear", "Hours", "Milliseconds", "Minutes", "Month", "Seconds"]) {
  Date.prototype[`get${part}`] = SystemDate.prototype[`getUTC${part}`];
}

// LiquidJS has English names of its own where it is given none.
globalThis.Intl = {
  DateTimeFormat: () => ({ format: () => undefined, resolvedOptions: () => ({ timeZone: "UTC" }) }),
};

// mulberry32
Math.random = () => {
  randomState ??= ask("seed") ?? 0;
  randomState = (randomState + 0x6d2b79f5) | 0;
  let mixed = Math.imul(randomState ^ (randomState >>> 15), 1 | randomState);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

globalThis.Buffer = {
  isBuffer: () => false,
  from: (text, from) => ({ toString: (to) => ask("encode", from, to, text) ?? "" }),
};

const modules = {
  fs: {},
  path: { sep: "/" },
  stream: {},
  crypto: {
    createHash: () => ({ update: (text) => ({ digest: () => ask("sha256", text) ?? "" }) }),
    createHmac: (_, key) => ({ update: (text) => ({ digest: () => ask("hmac_sha256", text, key) ?? "" }) }),
  },
};

// The values of a template. A lazy object has all its names at once and each of its members when it is read.

function lazyObject(path, names) {
  const loaded = new Set();
  return new Proxy(Object.fromEntries(names.map((name) => [name, undefined])), {
    get(target, key) {
      if (typeof key === "symbol" || !Object.hasOwn(target, key)) return Reflect.get(target, key);
      if (path.length > 0) read.set(JSON.stringify([...path, key]), [...path, key]);
      if (!loaded.has(key)) {
        const value = ask("value", ...path, key);
        if (value === undefined) return undefined;
        loaded.add(key);
        target[key] = value;
      }
      return target[key];
    },
    set(target, key, value) {
      loaded.add(key);
      target[key] = value;
      return true;
    },
  });
}

function learn(answers) {
  for (const [question, answer] of answers) job.answers.set(JSON.stringify(question), decoded(question, answer));
}

function decoded([kind, ...path], answer) {
  if (kind !== "value") return answer;
  const { names, text, value } = answer;
  if (names !== undefined) return lazyObject(path, names);
  return text === undefined ? value : Object.setPrototypeOf(value, { toString: () => text });
}

// Engines by their options and templates by their text; those that were not used for longest go first.

const liquidjs = {};
const operators = {};
const engines = new Map();
const templates = new Map();
let templateText = 0;

function fresh(cache, key, make) {
  const found = cache.get(key) ?? make();
  cache.delete(key);
  cache.set(key, found);
  return found;
}

function engineFor(options) {
  const engine = fresh(engines, options, () => newEngine(JSON.parse(options)));
  if (engines.size > MOST_ENGINES) engines.delete(engines.keys().next().value);
  return engine;
}

function newEngine(options) {
  const partials = { __proto__: null, ...options.templates };
  const fixed = { templates: partials, operators, locale: "en-US", parseLimit: MAX_SOURCE, cache: true };
  const engine = new liquidjs.Liquid({ ...options, ...fixed });
  for (const [name, tag] of Object.entries(engine.tags)) engine.registerTag(name, counted(tag));
  for (const [name, filter] of Object.entries(engine.filters)) {
    const handler = filter.handler ?? filter;
    engine.registerFilter(name, {
      raw: filter.raw,
      handler(...values) {
        place = this.token;
        spend(1);
        values.forEach(spendOn);
        return handler.apply(this, values);
      },
    });
  }
  return engine;
}

function counted(TagClass) {
  return class extends TagClass {
    constructor(...parts) {
      if (depth >= MAX_NESTING) throw new LimitError(`it has tags in tags more than ${MAX_NESTING} deep`);
      depth += 1;
      super(...parts);
      depth -= 1;
    }
    render(context, emitter) {
      place = this.token;
      return super.render(context, emitter);
    }
  };
}

function templateFor(options, source) {
  depth = 0;
  const key = `${options}\n${source}`;
  const template = fresh(templates, key, () => {
    const parsed = engineFor(options).parse(source);
    templateText += key.length;
    return parsed;
  });
  while (templates.size > MOST_TEMPLATES || (templateText > MOST_TEMPLATE_TEXT && templates.size > 1)) {
    const [oldest] = templates.keys();
    templateText -= oldest.length;
    templates.delete(oldest);
  }
  return template;
}

// Called with LiquidJS as Node's loader would call it.
function load(define) {
  define(liquidjs, (name) => modules[name]);
  const { Context } = liquidjs;
  const { readProperty } = Context.prototype;
  Context.prototype.readProperty = function (object, key) {
    spend(1);
    return readProperty.call(this, object, key);
  };
  for (const [name, operator] of Object.entries(liquidjs.defaultOperators)) {
    operators[name] = (...operands) => {
      spend(1);
      operands.slice(0, 2).forEach(spendOn);
      return operator(...operands);
    };
  }
  // LiquidJS asks how late it is before each node; what it is told is only counted.
  globalThis.global = {
    performance: {
      now() {
        spend(1);
        return 0;
      },
    },
  };
  limitOutput();
}

// The class that gathers text is not exported; a tag is given one. Captured text is gathered in the same way.
function limitOutput() {
  const engine = new liquidjs.Liquid({ templates: {} });
  let prototype;
  engine.registerTag("gathering", { render: (_, emitter) => void (prototype = Object.getPrototypeOf(emitter)) });
  engine.parseAndRenderSync("{% gathering %}");
  const { write } = prototype;
  prototype.write = function (value) {
    write.call(this, value);
    if (this.buffer.length > job.limits.output) {
      throw new LimitError(`its text is longer than ${job.limits.output} characters`);
    }
  };
}

function rendered() {
  const engine = engineFor(job.options);
  const renderOptions = { sync: true, memoryLimit: job.limits.memory };
  wanted = new Map();
  read = new Map();
  steps = 0;
  randomState = undefined;
  place = null;
  let outcome;
  try {
    const template = templateFor(job.options, job.source);
    const context = new liquidjs.Context(lazyObject([], job.names), engine.options, renderOptions, { liquid: engine });
    const text = liquidjs.toValueSync(engine.renderer.renderTemplates(template, context));
    outcome = { text: text.toWellFormed() };
  } catch (error) {
    outcome = { error: described(error) };
  }
  if (wanted.size > 0) return { wanted: [...wanted.values()] };
  job = NO_JOB; // and its values with it
  return { ...outcome, read: [...read.values()] };
}

function described(error) {
  const cause = error?.originalError ?? error;
  // Where there is no room for an error, QuickJS throws null, and LiquidJS asks null for its message.
  if (cause === null || MEMORY_USED_UP.test(cause.message)) {
    return { kind: "memory", ...position(place) };
  }
  let kind = cause instanceof LimitError ? "limit" : "mistake";
  let reason = error.message.replace(/(?:, file:.*)?, line:\d+, col:\d+$/s, "");
  if (reason === "memory alloc limit exceeded") {
    kind = "limit";
    reason = `its values take more than ${job.limits.memory} characters and items`;
  } else if (reason === "parse length limit exceeded") {
    kind = "limit";
    reason = `it is longer than ${MAX_SOURCE} characters`;
  } else if (reason.startsWith("ENOENT")) {
    reason = `there is no partial ${/".*?"/s.exec(reason)}`;
  } else if (cause.message === "Maximum call stack size exceeded") {
    kind = "limit";
    reason = "it or a value in it is nested too deeply";
  } else if (cause instanceof TypeError) {
    reason = `it cannot use a value (${reason})`;
  }
  return { kind, reason, ...position(error.token) };
}

function position(token) {
  const [line, column] = token?.getPosition() ?? [1, 1];
  return { line, column, partial: token?.file ?? null };
}

// The members that a template names, by the variable that they belong to. Without its places, for each of which LiquidJS
// counts the lines from the beginning.
function namedMembers(template) {
  const { prototype } = liquidjs.Token;
  const { getPosition } = prototype;
  prototype.getPosition = () => [1, 1];
  try {
    const { globals } = liquidjs.analyzeSync(template, { partials: false });
    return Object.values(globals).map((uses) => {
      const members = uses.map(({ segments }) => segments[1]).filter((segment) => typeof segment === "string");
      return [uses[0].segments[0], [...new Set(members)]];
    });
  } finally {
    prototype.getPosition = getPosition;
  }
}

const verbs = {
  parse(options, source) {
    job = NO_JOB;
    try {
      return { variables: namedMembers(templateFor(options, source)) };
    } catch (error) {
      return { error: described(error) };
    }
  },
  render(options, source, { names, now, limits }, answers) {
    job = { options, source, names, now, limits, answers: new Map() };
    learn(answers);
    return rendered();
  },
  again(answers) {
    learn(answers);
    return rendered();
  },
  place: () => position(place),
};

function call(verb, json) {
  return JSON.stringify(verbs[verb](...JSON.parse(json)));
}
