// The part of story_template.py that runs inside QuickJS, around Handlebars.
//
// Python cannot be called from here while a time limit is set. A macro is therefore asked for: the rendering ends there,
// and the next one knows it.
"use strict";

const MOST_TEMPLATES = 64;

const templates = new Map();
let answers = [];
let wanted = null;
let asked = 0;
let mark = null;

Handlebars.registerHelper("trim", () => "{{trim}}");
Handlebars.registerHelper("helperMissing", (...given) => {
  if (mark !== null) return mark + given.at(-1).name + mark;
  if (asked === answers.length) {
    wanted = given.at(-1).name;
    throw new Error(`the macro ${wanted} is not known yet`);
  }
  asked += 1;
  return answers[asked - 1];
});

// Finds out whether a template writes values and asks whether they are empty, and no more.
class Inspector extends Handlebars.Visitor {
  isPlain = true;
  PathExpression(path) {
    this.isPlain &&= !path.data && path.original === path.parts[0];
  }
  SubExpression() {
    this.isPlain = false;
  }
  BlockStatement(block) {
    this.isPlain &&= ["if", "unless"].includes(block.path.original);
    super.BlockStatement(block);
  }
}

function read(source) {
  let template = templates.get(source);
  if (template === undefined) {
    const program = Handlebars.parse(source);
    const inspector = new Inspector();
    inspector.accept(program);
    template = { render: Handlebars.compile(program, { noEscape: true }), isPlain: inspector.isPlain };
    if (templates.size === MOST_TEMPLATES) templates.clear();
    templates.set(source, template);
  }
  return template;
}

const verbs = {
  // The text with a mark before and after every name, or null for a template that is not plain.
  renderMarked(source, values, around) {
    [wanted, mark] = [null, around];
    const template = read(source);
    return template.isPlain ? template.render(values) : null;
  },
  render(source, values, known) {
    [answers, wanted, asked, mark] = [known, null, 0, null];
    return { text: read(source).render(values) };
  },
};

function call(verb, json) {
  try {
    return JSON.stringify(verbs[verb](...JSON.parse(json)));
  } catch (error) {
    if (wanted !== null) return JSON.stringify({ wanted });
    // What is used up cannot be handled here.
    if (error === null || error.name === "InternalError") throw error;
    return JSON.stringify({ error: error.name === "TypeError" ? "" : error.message });
  }
}
