// @ts-check
/**
 * Reads answers in lines (`answer_format = "lines"`) back into what the JSON answer holds.
 *
 * The grammar is in the reference of the six tools.
 */

/** @type {Record<string, string>} */
const SUMMARY = { node_counts: "entity_types_found", edge_counts: "predicates_found" };

/**
 * Whether a text is an answer in lines, and no JSON.
 *
 * @param {string} text
 */
export function isInLines(text) {
  return /^(?:[^\s"[{:]+|"(?:[^"\\]|\\.)*"):/.test(text);
}

/**
 * @param {string} text
 * @returns {any} The answer's fields; of a list `{result, notes}`.
 * @throws {SyntaxError} The text does not follow the grammar.
 */
export function readLines(text) {
  const lines = text.split("\n");
  if (lines[0].startsWith("results: ")) return readList(lines);
  /** @type {Record<string, any>} */
  const content = {};
  let place = 0;
  for (; place < lines.length && lines[place] !== "nodes:"; place += 1) {
    const [key, value] = field(new Line(lines[place]));
    if (key === "note") (content.notes ??= []).push(value);
    else if (key in SUMMARY) (content.schema_summary ??= {})[key] = value;
    else set(content, key, value);
  }
  const summary = content.schema_summary ?? {};
  for (const [counts, names] of Object.entries(SUMMARY))
    if (counts in summary && !(names in summary)) summary[names] = Object.keys(summary[counts]);
  if (place < lines.length) readSubgraph(lines, place, content);
  return content;
}

/** @param {string[]} lines */
function readList(lines) {
  const size = Number(lines[0].slice("results: ".length));
  const notes = lines.slice(size + 1).map((one) => field(new Line(one))[1]);
  const result = lines.slice(1, size + 1).map((one) => record(new Line(one)));
  return { result, ...(notes.length ? { notes } : {}) };
}

/** @param {string[]} lines @param {number} place @param {Record<string, any>} content */
function readSubgraph(lines, place, content) {
  const middle = lines.indexOf("edges:", place);
  if (middle < 0) throw new SyntaxError('The line "edges:" is missing.');
  /** @type {Map<string, string>} */
  const ids = new Map();
  content.nodes = lines.slice(place + 1, middle).map((one) => node(new Line(one), ids));
  content.edges = lines.slice(middle + 1).flatMap((one) => edges(new Line(one), ids));
}

/** @param {Line} line @returns {[string, any]} */
function field(line) {
  const key = line.text.startsWith('"') ? line.name() : line.until(":");
  line.expect(":");
  line.take(" ");
  return [key, key in SUMMARY ? line.pairs() : line.value("")];
}

/** @param {Line} line */
function record(line) {
  const id = line.name();
  line.expect(" ");
  const entity_type = line.name();
  line.expect(" |");
  line.take(" ");
  return { id, entity_type, ...line.pairs() };
}

/** @param {Line} line @param {Map<string, string>} ids */
function node(line, ids) {
  let number = null;
  if (line.take("#")) {
    number = line.name();
    line.expect(" ");
  }
  /** @type {Record<string, any>} */
  const found = { id: line.name() };
  line.expect(" ");
  found.entity_type = line.name();
  if (number !== null) ids.set(number, found.id);
  let full = false;
  while (!line.over && !(full = line.take(" |"))) {
    line.expect(" ");
    const key = line.name();
    line.expect("=");
    set(found, key, line.value(" "));
  }
  if (full) {
    line.take(" ");
    found.metadata = line.pairs();
  }
  return found;
}

/** The edges of one subject and predicate. @param {Line} line @param {Map<string, string>} ids */
function edges(line, ids) {
  const end = () => {
    if (!line.take("#")) return line.name();
    const number = line.name();
    const id = ids.get(number);
    if (id === undefined) throw new SyntaxError(`No node has the number ${number}.`);
    return id;
  };
  const subject = end();
  line.expect(" ");
  const predicate = line.name();
  const found = [];
  while (line.take(" ")) {
    /** @type {Record<string, any>} */
    const edge = { subject, predicate, object: end() };
    if (line.take("{")) {
      edge.metadata = line.pairs();
      line.expect("}");
    }
    found.push(edge);
  }
  if (!line.over) throw line.wrong();
  return found;
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

  /** Whether a sign comes next; it is passed. @param {string} sign */
  take(sign) {
    const found = this.text.startsWith(sign, this.place);
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

  /** What stands before a sign, or all. @param {string} signs */
  until(signs) {
    const start = this.place;
    while (!this.over && !signs.includes(this.text[this.place])) this.place += 1;
    return this.text.slice(start, this.place);
  }

  name() {
    if (this.text[this.place] === '"') return String(this.json());
    const found = this.until(" \t\r\f\v|={};");
    if (!found) throw this.wrong();
    return found;
  }

  /** A value up to one of some signs. @param {string} ends */
  value(ends) {
    if (!this.over && '"[{'.includes(this.text[this.place])) return this.json();
    const written = this.until(ends);
    try {
      return JSON.parse(written);
    } catch {
      return written;
    }
  }

  pairs() {
    /** @type {Record<string, any>} */
    const found = {};
    while (!this.over && this.text[this.place] !== "}") {
      const key = this.name();
      this.expect("=");
      set(found, key, this.value(";}"));
      this.take("; ");
    }
    return found;
  }

  /** A JSON text that ends before the line does. */
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

/** Set a key, `__proto__` included, as a key of the object itself. @param {Record<string, any>} object @param {string} key @param {any} value */
function set(object, key, value) {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
