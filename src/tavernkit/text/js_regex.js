// The part of js_regex.py that runs inside the JavaScript engine. Every verb takes its arguments and gives its answer
// as JSON, because the binding cuts strings at NUL and refuses lone surrogates.
"use strict";

const MOST_COMPILED = 4096;
const compiled = new Map();

function regex(source, flags) {
  const key = `${flags}/${source}`;
  let found = compiled.get(key);
  if (found === undefined) {
    found = new RegExp(source, flags);
    if (compiled.size >= MOST_COMPILED) compiled.delete(compiled.keys().next().value);
  } else {
    compiled.delete(key); // and put back at the end: the first key is the one that was not used for longest
  }
  compiled.set(key, found);
  found.lastIndex = 0;
  return found;
}

function step(pattern, text) {
  const wide = (pattern.unicode || pattern.unicodeSets) && text.codePointAt(pattern.lastIndex) > 0xffff;
  pattern.lastIndex += wide ? 2 : 1;
}

function findAll(source, flags, text) {
  const pattern = regex(source, flags);
  const matches = [];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole, ...groups] = match;
    matches.push([match.index, match.index + whole.length, whole, groups, match.groups ?? {}]);
    if (!pattern.global) break;
    if (whole === "") step(pattern, text);
  }
  return matches;
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
  replace: (source, flags, text, replacement) => text.replace(regex(source, flags), replacement),
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
  return JSON.stringify(verbs[verb](...JSON.parse(json)) ?? null);
}
