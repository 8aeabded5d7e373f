// @ts-check
/**
 * Reads answers in lines (`answer_format = "lines"`) back into the content of the JSON answer.
 *
 * The grammar is in the reference of the six tools.
 */

/** @typedef {Record<string, any>} Fields */
/** @typedef {[string, any][]} Columns Keys, with the value that all rows share, or VARIES. */

const VARIES = Symbol("varies");
const START = /^(?:results: |entity |from |taken |graph_description: )/;
const NAME = /[^\s"|={}[\];,>]+/y;
const COUNTED = /[^\s",;]+/y;
const TYPE = /[^\s"|={}[\];,>)]+/y;
const PREDICATE = /[^\s"|={}[\];,>]+(?=->\])/y;
const KEY = /[^\s"|={}[\];,>]+?(?=: | \(\d+\):$)/y;
const NUMBER = /\d+/y;
const TEXT = /([^"=,]+) = /y;
const ITEM = /[^;]+/y;
const WORD = /\w+/y;
const RELATION = /^(.+) -(.+)-> (.+) \(\d+\)$/;
/** @type {Record<string, string>} */
const COUNTS = { hops: "max_hops", k: "k", shown: "shown_count", common: "common_count", nodes: "node_count", edges: "edge_count" };

/**
 * Whether a text is an answer in lines rather than JSON.
 *
 * @param {string} text
 */
export function isInLines(text) {
  return START.test(text);
}

/**
 * @param {string} text
 * @returns {any} The answer's fields; for a list, `{result, notes}`.
 * @throws {SyntaxError} The text does not follow the grammar.
 */
export function readLines(text) {
  return new Answer(text.split("\n")).read();
}

/** An answer, read line by line. */
class Answer {
  /** @param {string[]} lines */
  constructor(lines) {
    this.lines = lines;
    this.place = 0;
    /** @type {Map<string, string>} The ids by what stands for them in the edges. */
    this.ids = new Map();
    /** @type {string[]} */
    this.taken = [];
    /** @type {string[]} */
    this.notes = [];
  }

  /** Whether the next line starts with a sign. @param {string} sign */
  starts(sign) {
    return this.place < this.lines.length && this.lines[this.place].startsWith(sign);
  }

  /** Whether a line of a table comes next. */
  get inTable() {
    return this.place < this.lines.length && !this.starts("[");
  }

  next() {
    if (this.place >= this.lines.length) throw new SyntaxError("The answer ends too early.");
    this.place += 1;
    return new Line(this.lines[this.place - 1]);
  }

  read() {
    const content = this.content();
    const notes = [...this.taken, ...this.notes];
    return notes.length ? { ...content, notes } : content;
  }

  /** @returns {Fields} */
  content() {
    if (this.starts("results: ")) return this.list();
    if (this.starts("entity ")) return this.entity();
    if (this.starts("from ")) return this.around();
    this.names();
    return this.fields();
  }

  list() {
    this.next();
    const byName = this.starts("taken by name");
    if (byName) this.next();
    this.names();
    this.fields();
    const result = this.tables().map(({ metadata, ...node }) => ({ ...node, ...metadata }));
    if (byName) for (const one of result) this.taken.push(took(one.name, one.id, one.entity_type));
    return { result };
  }

  entity() {
    const line = this.next();
    line.expect("entity ");
    const [id, entity_type] = this.who(line);
    this.names();
    const content = { id, entity_type, ...this.fields() };
    if ("provenance" in content) {
      const items = this.links().map(({ metadata, ...edge }) => ({ ...edge, ...metadata }));
      content.provenance = { total: content.provenance, items };
    }
    return content;
  }

  /** A traversal, or the schema of a neighbourhood. */
  around() {
    /** @type {Fields} */
    const content = { seeds: this.names() };
    /** @type {Record<string, Record<string, number>>} */
    const tallies = { nodes: {}, edges: {} };
    const line = this.next();
    let following = null;
    while (!line.over) {
      if (line.take("continue offset=")) {
        const end = line.number();
        line.expect(", limit=");
        following = { end, limit: line.number() };
        break;
      }
      const word = line.matched(WORD);
      if (!(word in COUNTS)) throw line.wrong();
      line.expect(" ");
      const number = line.number();
      content[COUNTS[word]] = number;
      if (word in tallies && line.take(": ")) tallies[word] = line.tally(number);
      line.take("; ");
    }
    Object.assign(content, this.fields());
    if (!("max_hops" in content || "k" in content))
      return { ...content, entity_types: Object.keys(tallies.nodes).sort(byCodePoint), node_counts: tallies.nodes };
    content.schema_summary = {
      entity_types_found: Object.keys(tallies.nodes).sort(byCodePoint),
      predicates_found: Object.keys(tallies.edges).sort(byCodePoint),
      node_counts: tallies.nodes,
      edge_counts: tallies.edges,
    };
    content.nodes = this.tables();
    content.edges = this.links().sort(byEnds);
    if (following) this.notes.unshift(continued(content, following));
    return content;
  }

  /** The ids behind `from`; every resolved name becomes a note. */
  names() {
    const seeds = [];
    while (["from ", "to ", "taken "].some((sign) => this.starts(sign))) {
      const line = this.next();
      const word = line.matched(WORD);
      line.expect(" ");
      do {
        const [id] = this.who(line);
        if (word === "from") seeds.push(id);
      } while (line.take(", "));
    }
    return seeds;
  }

  /** @param {Line} line @returns {[string, string | null]} */
  who(line) {
    let text = line.at('"') ? null : line.found(TEXT)?.[1] ?? null;
    let id = line.name();
    if (text === null && line.take(" = ")) {
      text = id;
      id = line.name();
    }
    let type = null;
    if (line.take(" (")) {
      type = line.name(TYPE);
      line.expect(")");
    }
    if (text !== null) this.taken.push(took(text, id, type ?? ""));
    return [id, type];
  }

  /** @returns {Fields} */
  fields() {
    /** @type {Fields} */
    const content = {};
    while (this.inTable) {
      const line = this.next();
      const isNote = line.at("note: ");
      const key = line.name(KEY);
      if (line.take(" (")) {
        const size = line.number();
        line.expect("):");
        const listed = Array.from({ length: size }, () => this.next());
        content[key] = key === "properties" ? asObject(listed.map(described)) : listed.map((one) => one.value(""));
        continue;
      }
      line.expect(": ");
      if (isNote) this.notes.push(line.value(""));
      else set(content, key, key === "edges" ? line.tally() : line.value(""));
    }
    const named = (content.relations ?? []).map((/** @type {string} */ one) => RELATION.exec(one)).filter(Boolean);
    if (named.length) {
      content.predicates ??= unique(named.map((/** @type {string[]} */ one) => one[2]));
      if ("tool_usage_notes" in content)
        content.entity_types ??= unique(named.flatMap((/** @type {string[]} */ one) => [one[1], one[3]]));
    }
    return content;
  }

  /** @returns {Fields[]} */
  tables() {
    const found = [];
    while (this.starts("[") && !this.starts("[-")) {
      const line = this.next();
      line.expect("[");
      const type = line.take("*") ? null : line.name();
      line.take(" ");
      const fields = line.columns("]", " ");
      line.expect("]");
      const columns = line.heading();
      while (this.inTable) found.push(this.row(this.next(), type, fields, columns));
    }
    return found;
  }

  /** @param {Line} line @param {string | null} type @param {Columns} fields @param {Columns} columns */
  row(line, type, fields, columns) {
    const label = line.found(/(\d+) /y)?.[1];
    /** @type {Fields} */
    const node = { id: line.name() };
    if (label !== undefined) this.ids.set(label, node.id);
    if (type === null) line.expect("|");
    node.entity_type = type ?? line.name();
    for (const [key, value] of fields)
      if (value !== VARIES) set(node, key, value);
      else if (line.take("|") && !line.over && !line.at("|")) set(node, key, line.value("|"));
    const metadata = line.take("|") ? line.cells(columns, "") : shared(columns);
    if (metadata) node.metadata = metadata;
    if (!line.over) throw line.wrong();
    return node;
  }

  /** @returns {Fields[]} */
  links() {
    const found = [];
    while (this.place < this.lines.length) {
      const heading = this.next();
      heading.expect("[-");
      const predicate = heading.name(PREDICATE);
      heading.expect("->]");
      const columns = heading.heading();
      let subject = "";
      while (this.inTable) {
        const line = this.next();
        if (!line.at(">")) subject = this.end(line);
        line.expect(">");
        do {
          /** @type {Fields} */
          const edge = { subject, predicate, object: this.end(line) };
          const braced = line.take("{");
          const metadata = braced ? line.cells(columns, "}") : shared(columns);
          if (braced) line.expect("}");
          if (metadata) edge.metadata = metadata;
          found.push(edge);
        } while (line.take(","));
        if (!line.over) throw line.wrong();
      }
    }
    return found;
  }

  /** @param {Line} line */
  end(line) {
    const bare = !line.at('"');
    const name = line.name();
    if (!bare || !/^\d+$/.test(name)) return name;
    const id = this.ids.get(name);
    if (id === undefined) throw new SyntaxError(`No node has the number ${name}.`);
    return id;
  }
}

/** One line, read from left to right. */
class Line {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.place = 0;
  }

  get over() {
    return this.place >= this.text.length;
  }

  /** @param {string} sign */
  at(sign) {
    return this.text.startsWith(sign, this.place);
  }

  /** Whether a sign comes next; if so, skip it. @param {string} sign */
  take(sign) {
    const found = this.at(sign);
    if (found) this.place += sign.length;
    return found;
  }

  /** @param {string} sign */
  expect(sign) {
    if (!this.take(sign)) throw this.wrong();
  }

  wrong() {
    return new SyntaxError(`This line is cut off or is not part of an answer: ${this.text.slice(0, 80)}`);
  }

  /** The match of a sticky pattern here, which is skipped. @param {RegExp} pattern */
  found(pattern) {
    pattern.lastIndex = this.place;
    const found = pattern.exec(this.text);
    if (found) this.place = pattern.lastIndex;
    return found;
  }

  /** @param {RegExp} pattern */
  matched(pattern) {
    const found = this.found(pattern);
    if (!found) throw this.wrong();
    return found[0];
  }

  number() {
    return Number(this.matched(NUMBER));
  }

  /** @param {RegExp} [bare] */
  name(bare = NAME) {
    return this.at('"') ? String(this.json()) : this.matched(bare);
  }

  /** A value that ends before one of the given signs. @param {string} ends */
  value(ends) {
    if (!this.over && '"[{'.includes(this.text[this.place])) return this.json();
    const start = this.place;
    while (!this.over && !ends.includes(this.text[this.place])) this.place += 1;
    const written = this.text.slice(start, this.place);
    try {
      return JSON.parse(written);
    } catch {
      return written;
    }
  }

  /** Names with their numbers; a single name may omit its number, which is the total. @param {number} [total] */
  tally(total) {
    /** @type {Record<string, number>} */
    const found = {};
    do {
      const key = this.name(COUNTED);
      set(found, key, total === undefined || this.take(" ") ? (this.take(" "), this.number()) : total);
    } while (this.take(", "));
    return found;
  }

  /** The columns after the brackets of a heading. */
  heading() {
    this.take(" ");
    /** @type {Columns} */
    const empty = [["", null]];
    return this.take("{}") ? empty : this.columns("", "|");
  }

  /** @param {string} ends @param {string} separator */
  columns(ends, separator) {
    /** @type {Columns} */
    const found = [];
    while (!this.over && !(ends && ends.includes(this.text[this.place]))) {
      const key = this.name();
      found.push([key, this.take("=") ? this.value(ends + separator) : VARIES]);
      this.take(separator);
    }
    return found;
  }

  /** The record given by the cells up to a sign. @param {Columns} columns @param {string} end */
  cells(columns, end) {
    const found = shared(columns) ?? {};
    const varying = columns.filter(([, value]) => value === VARIES).map(([key]) => key);
    const ends = `|${end}`;
    do {
      let key = varying.shift();
      if (this.over || ends.includes(this.text[this.place])) continue;
      if (key === undefined) {
        key = this.name();
        this.expect("=");
      }
      set(found, key, this.value(ends));
    } while (this.take("|"));
    return found;
  }

  /** A JSON text that may end before the line does. */
  json() {
    const start = this.place;
    let depth = 0;
    let inText = false;
    for (; !this.over; this.place += 1) {
      const sign = this.text[this.place];
      if (inText) {
        if (sign === "\\") this.place += 1;
        else if (sign === '"') inText = false;
      } else if (sign === '"') inText = true;
      else if ("[{".includes(sign)) depth += 1;
      else if ("]}".includes(sign)) depth -= 1;
      if (!inText && depth === 0) break;
    }
    this.place += 1;
    return JSON.parse(this.text.slice(start, this.place));
  }
}

/** The metadata of a row without cells: the values in the heading, if any. @param {Columns} columns */
function shared(columns) {
  const given = columns.filter(([, value]) => value !== VARIES);
  return given.length ? asObject(given.filter(([key]) => key)) : null;
}

/** @param {string} text @param {string} id @param {string} type */
function took(text, id, type) {
  return `${JSON.stringify(text)} was taken as ${id} (${type}).`;
}

/** The note that says where the next page begins. @param {Fields} content @param {{end: number, limit: number}} following */
function continued(content, { end, limit }) {
  const walked = "shown_count" in content;
  const shown = content.nodes.filter((/** @type {Fields} */ node) => !walked || "paths" in node).length;
  const total = walked ? content.shown_count : content.node_count;
  return `${walked ? "Shown nodes" : "Nodes"} ${end - shown + 1} to ${end} of ${total}. Continue with offset=${end}, limit=${limit}.`;
}

/** A type or predicate and its properties. @param {Line} line @returns {[string, string[]]} */
function described(line) {
  const owner = line.name(KEY);
  line.expect(": ");
  const items = [];
  while (!line.over) {
    items.push(line.at('"') ? line.json() : line.matched(ITEM));
    line.take("; ");
  }
  return [owner, items];
}

/** @param {string[]} names */
function unique(names) {
  return [...new Set(names)].sort(byCodePoint);
}

/** @param {Fields} one @param {Fields} other */
function byEnds(one, other) {
  return (
    byCodePoint(one.subject, other.subject) || byCodePoint(one.predicate, other.predicate) || byCodePoint(one.object, other.object)
  );
}

/** @param {string} one @param {string} other */
function byCodePoint(one, other) {
  const [a, b] = [[...one], [...other]];
  for (let i = 0; i < a.length && i < b.length; i += 1)
    if (a[i] !== b[i]) return Number(a[i].codePointAt(0)) - Number(b[i].codePointAt(0));
  return a.length - b.length;
}

/** @param {[string, any][]} pairs */
function asObject(pairs) {
  const found = {};
  for (const [key, value] of pairs) set(found, key, value);
  return found;
}

/** Set a key, even `__proto__`, as a property of the object itself. @param {Fields} object @param {string} key @param {any} value */
function set(object, key, value) {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
