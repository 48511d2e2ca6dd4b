// The part of js_regex.py that runs inside the JavaScript engine. Every verb takes its arguments and gives its answer
// as JSON, because the binding cuts strings at NUL and refuses lone surrogates.
"use strict";

const MOST_COMPILED = 4096;
const compiled = new Map();

function compile(source, flags) {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    if (error.message !== "out of memory" || compiled.size === 0) throw error;
  }
  compiled.clear(); // a few dozen patterns can be what fills the memory
  return new RegExp(source, flags);
}

function regex(source, flags, start = 0) {
  const key = `${flags}/${source}`;
  let found = compiled.get(key);
  if (found === undefined) {
    found = compile(source, flags);
    if (compiled.size >= MOST_COMPILED) compiled.delete(compiled.keys().next().value);
  } else {
    compiled.delete(key); // and put back at the end: the first key is the one that was not used for longest
  }
  compiled.set(key, found);
  found.lastIndex = start;
  return found;
}

function step(pattern, text) {
  const wide = (pattern.unicode || pattern.unicodeSets) && text.codePointAt(pattern.lastIndex) > 0xffff;
  pattern.lastIndex += wide ? 2 : 1;
}

function findAll(source, flags, text, start) {
  const pattern = regex(source, flags, start);
  const matches = [];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole, ...groups] = match;
    matches.push([match.index, match.index + whole.length, whole, groups, match.groups ?? {}]);
    if (!pattern.global) break;
    if (whole === "") step(pattern, text);
  }
  return matches;
}

// The text cut at its matches: for each the text before it, its offset, itself with its groups, and the named ones.
function cut(source, flags, text) {
  const cuts = [];
  let end = 0;
  text.replace(regex(source, flags), (...found) => {
    const named = typeof found.at(-1) === "object" ? found.pop() : null;
    const [start] = found.splice(-2);
    cuts.push([text.slice(end, start), start, found, named]);
    end = start + found[0].length;
    return "";
  });
  return [cuts, text.slice(end)];
}

// One batch at a time. An interruption cannot be caught here, so how far the sweep came is kept where the next call
// finds it.
const NOT_FOUND = -1;
const EXHAUSTED = -2;
let batch = { text: "", patterns: [], answers: [] };
let order = [];
let reached = 0;

function firstPlace(pattern, text) {
  return pattern.test(text) ? text.search(pattern) : NOT_FOUND;
}

function answer([source, flags]) {
  try {
    return firstPlace(regex(source, flags), batch.text);
  } catch {
    return EXHAUSTED;
  }
}

const verbs = {
  compile: (source, flags) => regex(source, flags) !== undefined,
  test: (source, flags, text) => regex(source, flags).test(text),
  findAll,
  cut,
  firstFound: (patterns, text) => patterns.findIndex(([source, flags]) => regex(source, flags).test(text)),
  replace: (source, flags, text, replacement, start) => text.replace(regex(source, flags, start), replacement),
  split: (source, flags, text) => text.split(regex(source, flags)),
  open(text, patterns) {
    batch = { text, patterns, answers: patterns.map(() => null) };
  },
  line(places) {
    order = places;
    reached = 0;
  },
  sweep(from) {
    for (reached = from; reached < order.length; reached++) {
      batch.answers[order[reached]] = answer(batch.patterns[order[reached]]);
    }
  },
  reached: () => reached,
  close() {
    const { answers } = batch;
    batch = { text: "", patterns: [], answers: [] };
    return answers;
  },
};

function call(verb, json) {
  try {
    return JSON.stringify(verbs[verb](...JSON.parse(json)) ?? null);
  } catch (error) {
    if (error.message === "out of memory") compiled.clear(); // so that the next call has what there is
    throw error;
  }
}
